import type { ReactNode } from 'react';
import { Button, Group, Paper, Progress, Stack, Text, Title } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import { formatNumber } from '../../shell/formats.ts';
import { ProblemView } from '../../shell/problem-view.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { useUrlFilters } from '../../shell/use-url-filters.ts';
import { ledgerOf, type LedgerSurface } from './ledger-source.ts';
import * as texts from './texts.ts';

type AuditRun = Schemas['ingestGatewayAdmin']['AuditRun'];

const REFRESH_MS = 1_000;

/**
 * Audits the whole channel against its checkpoints. The service does the work; the URL has the id of the audit, so that
 * one can leave the page and return.
 */
export function AuditPanel({ surface, channel }: { surface: LedgerSurface; channel: string }): ReactNode {
  const [{ audit: auditId }, setFilters] = useUrlFilters(['audit']);
  const begin = api.useMutation('post', `${ledgerOf(surface)}/channels/{channel}/audits`, {
    onSuccess: (run) => setFilters({ audit: run.auditId }),
  });
  const run = api.useQuery(
    'get',
    `${ledgerOf(surface)}/channels/{channel}/audits/{auditId}`,
    { params: { path: { channel, auditId: auditId ?? '' } } },
    {
      enabled: auditId !== undefined,
      refetchInterval: ({ state }) => (state.data?.status === 'running' ? REFRESH_MS : false),
    },
  );
  const { data } = run;
  return (
    <Paper component="section" aria-label={texts.audit}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2}>{texts.audit}</Title>
          <Button
            variant="default"
            size="xs"
            loading={begin.isPending || data?.status === 'running'}
            onClick={() => begin.mutate({ params: { path: { channel } }, body: {} })}
          >
            {texts.auditTheChannel}
          </Button>
        </Group>
        <Text size="sm" c="dimmed">
          {texts.auditHint}
        </Text>
        {begin.isError && <ProblemView error={begin.error} />}
        {run.isError && <ProblemView error={run.error} onRetry={() => void run.refetch()} />}
        {data !== undefined && <Progressed run={data} />}
      </Stack>
    </Paper>
  );
}

function Progressed({ run: { status, walked, size, report } }: { run: AuditRun }): ReactNode {
  if (status === 'running') {
    return (
      <>
        <Progress value={size === 0 ? 100 : (walked / size) * 100} aria-label={texts.recordsWalked} animated />
        <Text size="sm">{texts.recordsWalkedOf(formatNumber(walked), formatNumber(size))}</Text>
      </>
    );
  }
  if (report === null) return <StateBadge tone="bad">{texts.theAuditEndedWithoutAResult}</StateBadge>;
  const { ok, problem, firstBadRecordId } = report;
  const finding = ok
    ? texts.allAsSigned(report.size, formatNumber(report.size))
    : texts.problemFirstAt(problem ?? texts.itIsNotAsItWasSigned, firstBadRecordId ?? texts.anUnknownRecord);
  return (
    <Group gap="xs">
      <StateBadge tone={ok ? 'good' : 'bad'}>{ok ? texts.whole : texts.broken}</StateBadge>
      <Text size="sm" className="wrap">
        {finding}
      </Text>
    </Group>
  );
}

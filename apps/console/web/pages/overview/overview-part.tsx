import type { ReactNode } from 'react';
import { Anchor, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { Link } from 'react-router';
import { api } from '../../shell/api.ts';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty, ListError, ListLoading } from '../../shell/list-states.tsx';
import { useMine } from '../../shell/mine.ts';
import { Page } from '../../shell/page.tsx';
import { StateBadge } from '../../shell/state-badge.tsx';
import { ActivityCards } from './activity-cards.tsx';
import { LedgerCard } from './ledger-card.tsx';
import { surfaceNames } from '../../shell/surface-names.ts';
import { stateInWords } from './state-words.ts';
import * as texts from './texts.ts';
import { WaitingCard } from './waiting-card.tsx';

type SurfaceState = Schemas['consoleServer']['SurfaceState'];

const REFRESH_MS = 15_000;

/** The state of the surfaces, of their ledger, and their backlogs. */
export function OverviewPart(): ReactNode {
  const admins = useMine().mine?.readable ?? [];
  const overview = useOverview();
  return (
    <Page title={texts.services} intro={texts.servicesIntro}>
      <Surfaces states={overview} />
      <ActivityCards />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <LedgerCard surfaces={admins.filter((id) => id === 'ingest-gateway' || id === 'ledger-peer')} />
        <WaitingCard waiting={overview.data?.waiting} />
      </SimpleGrid>
    </Page>
  );
}

const useOverview = () => api.useQuery('get', '/overview', {}, { refetchInterval: REFRESH_MS });

function Surfaces({ states }: { readonly states: ReturnType<typeof useOverview> }): ReactNode {
  if (states.data === undefined) {
    if (states.isError) return <ListError error={states.error} onRetry={() => void states.refetch()} />;
    return (
      <Paper>
        <ListLoading rows={3} />
      </Paper>
    );
  }
  const { surfaces, alerts } = states.data;
  if (surfaces.length === 0) {
    return (
      <Paper>
        <ListEmpty title={texts.noServiceIsConfigured}>{texts.noServiceIsConfiguredHint}</ListEmpty>
      </Paper>
    );
  }
  return (
    <Stack gap="sm">
      {alerts !== undefined && <Alerts alerts={alerts} />}
      {states.isError && <ListError error={states.error} onRetry={() => void states.refetch()} />}
      <SimpleGrid cols={{ base: 1, xs: 2, lg: Math.min(4, surfaces.length) }} spacing="md">
        {surfaces.map((surface) => (
          <SurfaceCard key={surface.id} surface={surface} />
        ))}
      </SimpleGrid>
    </Stack>
  );
}

function SurfaceCard({ surface }: { surface: SurfaceState }): ReactNode {
  const { title, does, part } = surfaceNames[surface.id];
  return (
    <Paper component="section" aria-label={title} h="100%">
      <Stack gap="sm" justify="space-between" h="100%">
        <Stack gap={4}>
          <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
            <Title order={2}>
              <Anchor component={Link} to={part} c="inherit" inherit>
                {title}
              </Anchor>
            </Title>
            <Readiness ready={surface.ready} />
          </Group>
          <Text size="sm" c="dimmed">
            {does}
          </Text>
        </Stack>
        <Reasons surface={surface} />
        <Rates surface={surface} />
      </Stack>
    </Paper>
  );
}

/** The firing alerts of Prometheus. */
const Alerts = ({
  alerts,
}: {
  readonly alerts: NonNullable<Schemas['consoleServer']['Overview']['alerts']>;
}): ReactNode => (
  <Group gap="xs" component="section" aria-label={texts.alerts}>
    {alerts.length === 0 && <StateBadge tone="good">{texts.noAlertFires}</StateBadge>}
    {alerts.map(({ service, name, severity }) => (
      <StateBadge key={`${service} ${name} ${severity}`} tone="bad">
        {`${name}: ${service === null ? texts.severalServices : surfaceNames[service].title} (${severity})`}
      </StateBadge>
    ))}
  </Group>
);

function Readiness({ ready }: { ready: boolean | null }): ReactNode {
  if (ready === null) return <StateBadge tone="bad">{texts.unreachable}</StateBadge>;
  return ready ? (
    <StateBadge tone="good">{texts.ready}</StateBadge>
  ) : (
    <StateBadge tone="bad">{texts.notReady}</StateBadge>
  );
}

/** What the service says of itself. */
function Reasons({ surface: { checks, gauges } }: { surface: SurfaceState }): ReactNode {
  const lines = stateInWords(checks, gauges);
  if (lines.length === 0) return null;
  return (
    <Stack gap={2}>
      {lines.map((line) => (
        <Text key={line} size="sm" className="wrap">
          {line}
        </Text>
      ))}
    </Stack>
  );
}

/** Rates are the difference of two looks at the counters of a service. */
function Rates({ surface }: { surface: SurfaceState }): ReactNode {
  const { requestsPerSecond, errorsPerSecond, p95Seconds, ready } = surface;
  if (requestsPerSecond === undefined || errorsPerSecond === undefined)
    return (
      <Text size="sm" c="dimmed">
        {ready === null ? texts.ratesUnknown : texts.ratesNotCountedYet}
      </Text>
    );
  return (
    <Group gap="xl">
      <Rate label={texts.requests} value={requestsPerSecond} />
      <Rate label={texts.errors} value={errorsPerSecond} isBad />
      {p95Seconds !== undefined && (
        <Stack gap={0}>
          <Text size="xs" c="dimmed">
            {texts.p95Within}
          </Text>
          <Text fw={600}>{texts.milliseconds(Math.ceil(1000 * p95Seconds))}</Text>
        </Stack>
      )}
    </Group>
  );
}

function Rate({ label, value, isBad = false }: { label: string; value: number; isBad?: boolean }): ReactNode {
  const color = isBad && value > 0 ? 'var(--console-bad)' : undefined;
  return (
    <Stack gap={0}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text fw={600} {...(color === undefined ? {} : { c: color })}>
        {texts.perSecond(formatNumber(value))}
      </Text>
    </Stack>
  );
}

import type { ReactNode } from 'react';
import { List, Text } from '@mantine/core';
import { api } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page, Section } from '../../shell/page.tsx';
import type { SurfaceId } from '../../shell/session.ts';
import { StateBadge } from '../../shell/state-badge.tsx';
import { surfaceNames } from '../../shell/surface-names.ts';
import { Time } from '../../shell/time.tsx';
import { useReadable } from './by-surface.tsx';
import { acceptedState, secretState, type Said, type SecretsReport } from './secret-words.ts';
import * as texts from './texts.ts';

/** How far the rotation of secrets is at each service. No value is shown: the services tell ids and times alone. */
export const SecretsPage = (): ReactNode => (
  <Page
    title={texts.secrets}
    intro={texts.secretsIntro(
      <CodeText value="npx sealgate secrets rotate server-secret" label={texts.copyTheCommand} />,
    )}
  >
    {useReadable().map((surface) => (
      <OfSurface key={surface} surface={surface} />
    ))}
  </Page>
);

const REFRESH_MS = 60_000;

function OfSurface({ surface }: { readonly surface: SurfaceId }): ReactNode {
  const { title } = surfaceNames[surface];
  const report = api.useQuery('get', `/admin/${surface}/admin/v1/secrets`, {}, { refetchInterval: REFRESH_MS });
  return (
    <Section title={title}>
      <Unread read={report} rows={3} />
      {report.data !== undefined && (
        <>
          <Text size="sm" c="dimmed">
            {texts.processesReported(report.data.processes.length)}
          </Text>
          <ServerSecrets of={title} secrets={report.data.secrets} />
          {report.data.accepted.length > 0 && <Accepted of={title} rows={report.data.accepted} />}
        </>
      )}
    </Section>
  );
}

const State = ({ said }: { readonly said: Said }): ReactNode => <StateBadge tone={said.tone}>{said.text}</StateBadge>;

const ServerSecrets = ({ of, secrets }: { of: string; secrets: SecretsReport['secrets'] }): ReactNode => (
  <PlainTable
    label={texts.serverSecretsOf(of)}
    rows={secrets}
    rowKey={({ id }) => id}
    columns={[
      { title: texts.serverSecret, width: '14rem', cell: ({ id }) => id },
      { title: texts.state, width: '16rem', cell: (secret) => <State said={secretState(secret)} /> },
      {
        title: texts.lastUsed,
        width: '10rem',
        cell: ({ lastMadeAt }) => (lastMadeAt === null ? texts.never : <Time value={lastMadeAt} form="ago" />),
      },
      { title: texts.neededFor, cell: ({ needs }) => <Needs needs={needs} /> },
    ]}
    isDense
    empty={<ListEmpty title={texts.noProcessHasReportedYet}>{texts.noProcessHasReportedYetHint}</ListEmpty>}
  />
);

const counted = (rows: number | null, what: string): string => (rows === null ? what : `${formatNumber(rows)} ${what}`);

function Needs({ needs }: { readonly needs: SecretsReport['secrets'][number]['needs'] }): ReactNode {
  if (needs.length === 0) return texts.nothing;
  return (
    <List size="sm" listStyleType="none">
      {needs.map(({ what, rows, until }) => (
        <List.Item key={what} className="wrap">
          {until === null
            ? texts.neededUntilMadeAgain(counted(rows, what))
            : texts.neededUntil(counted(rows, what), <Time value={until} form="day" />)}
        </List.Item>
      ))}
    </List>
  );
}

const Accepted = ({ of, rows }: { of: string; rows: SecretsReport['accepted'] }): ReactNode => (
  <PlainTable
    label={texts.acceptedTokensAndKeysOf(of)}
    rows={rows}
    rowKey={({ variable, id }) => `${variable} ${id}`}
    columns={[
      { title: texts.tokenOrKey, width: '14rem', cell: ({ id }) => <code>{id}</code> },
      { title: texts.state, width: '16rem', cell: (row) => <State said={acceptedState(row)} /> },
      {
        title: texts.lastUsed,
        width: '10rem',
        cell: ({ lastUsedAt }) => (lastUsedAt === null ? texts.never : <Time value={lastUsedAt} form="ago" />),
      },
      { title: texts.setting, cell: ({ variable }) => <code>{variable}</code> },
    ]}
    isDense
    empty={null}
  />
);

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

/** How far the rotation of secrets is at each service. No value is shown: the services tell ids and times alone. */
export const SecretsPage = (): ReactNode => (
  <Page
    title="Secrets"
    intro={
      <>
        Which secrets the processes have, and what still needs an old one. They are rotated in the settings of the
        services; the next step of one:{' '}
        <CodeText value="npx sealgate secrets rotate server-secret" label="the command" />
      </>
    }
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
            {report.data.processes.length === 1
              ? 'One process reported in the last minutes.'
              : `${report.data.processes.length} processes reported in the last minutes.`}
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
    label={`Server secrets of ${of}`}
    rows={secrets}
    rowKey={({ id }) => id}
    columns={[
      { title: 'Server secret', width: '14rem', cell: ({ id }) => id },
      { title: 'State', width: '16rem', cell: (secret) => <State said={secretState(secret)} /> },
      {
        title: 'Last used',
        width: '10rem',
        cell: ({ lastMadeAt }) => (lastMadeAt === null ? 'Never' : <Time value={lastMadeAt} form="ago" />),
      },
      { title: 'Needed for', cell: ({ needs }) => <Needs needs={needs} /> },
    ]}
    isDense
    empty={<ListEmpty title="No process has reported yet">They report within two minutes of their start.</ListEmpty>}
  />
);

function Needs({ needs }: { readonly needs: SecretsReport['secrets'][number]['needs'] }): ReactNode {
  if (needs.length === 0) return 'Nothing';
  return (
    <List size="sm" listStyleType="none">
      {needs.map(({ what, rows, until }) => (
        <List.Item key={what} className="wrap">
          {rows !== null && `${formatNumber(rows)} `}
          {what},{' '}
          {until === null ? (
            'until they are made again'
          ) : (
            <>
              until <Time value={until} form="day" />
            </>
          )}
        </List.Item>
      ))}
    </List>
  );
}

const Accepted = ({ of, rows }: { of: string; rows: SecretsReport['accepted'] }): ReactNode => (
  <PlainTable
    label={`Accepted tokens and keys of ${of}`}
    rows={rows}
    rowKey={({ variable, id }) => `${variable} ${id}`}
    columns={[
      { title: 'Token or key', width: '14rem', cell: ({ id }) => <code>{id}</code> },
      { title: 'State', width: '16rem', cell: (row) => <State said={acceptedState(row)} /> },
      {
        title: 'Last used',
        width: '10rem',
        cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : <Time value={lastUsedAt} form="ago" />),
      },
      { title: 'Setting', cell: ({ variable }) => <code>{variable}</code> },
    ]}
    isDense
    empty={null}
  />
);

import { useState, type ReactNode } from 'react';
import { Anchor, Button, Group, Stack, Title } from '@mantine/core';
import { Link } from 'react-router';
import { listed, useReload } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable, type Column } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { quoted } from '../../shell/quoted.ts';
import { Time } from '../../shell/time.tsx';
import { RowMenu } from '../row-menu.tsx';
import { useGatewayAddress } from './curl-line.ts';
import { SourceState } from './deliveries-page.tsx';
import { sourceActions, useSourceDialogs, type SourceAction } from './source-dialogs.tsx';
import type { Source } from './source-presets.ts';
import { SourceForm } from './source-form.tsx';

interface SourceTableProps {
  readonly networkId: string;
  readonly channels: readonly string[];
  readonly mayChange: boolean;
}

/** Sources accept signed webhooks and write each delivery as a record. */
export function SourceTable({ networkId, channels, mayChange }: SourceTableProps): ReactNode {
  const [making, setMaking] = useState(false);
  const { open, dialog } = useSourceDialogs();
  const reload = useReload();
  const address = useGatewayAddress();
  const make = mayChange && <Button onClick={() => setMaking(true)}>New source</Button>;
  return (
    <Stack gap="sm" component="section" aria-label="Sources of webhooks">
      <Group justify="space-between">
        <Title order={2}>Sources of webhooks</Title>
        {make}
      </Group>
      <CursorTable
        label="Sources of webhooks"
        isDense
        cursorName="sources"
        page={listed('/admin/ingest-gateway/admin/v1/networks/{networkId}/sources', { path: { networkId } })}
        rowKey={({ sourceId }) => sourceId}
        columns={columnsOf({ networkId, address, ...(mayChange && { open }) })}
        empty={
          <ListEmpty title="No source yet" icon="live" action={make}>
            A source accepts signed webhooks of GitHub, Stripe and others; no key is needed.
          </ListEmpty>
        }
      />
      {making && (
        <SourceForm
          networkId={networkId}
          channels={channels}
          onDone={() => {
            setMaking(false);
            void reload('/admin/ingest-gateway/admin/v1/networks');
          }}
          onClose={() => setMaking(false)}
        />
      )}
      {dialog}
    </Stack>
  );
}

const ADDRESS_CHARACTERS = 44;

interface ShownColumns {
  readonly networkId: string;
  /** Of the gateway, for sources that do not know it. */
  readonly address: string;
  /** Absent for those who may not change sources. */
  readonly open?: (action: SourceAction, source: Source) => void;
}

function columnsOf({ networkId, address, open }: ShownColumns): readonly Column<Source>[] {
  const shown: readonly Column<Source>[] = [
    {
      title: 'Name',
      cell: ({ name, sourceId }) => (
        <Anchor
          component={Link}
          to={`/networks/${networkId}/sources/${sourceId}/deliveries`}
          size="sm"
          fw={600}
          aria-label={`Deliveries of ${quoted(name)}`}
        >
          {name}
        </Anchor>
      ),
    },
    { title: 'Scheme', width: '9rem', cell: ({ scheme }) => scheme },
    {
      title: 'Address',
      cell: ({ path, url }) => (
        <CodeText value={url ?? `${address}${path}`} label="the address" short={ADDRESS_CHARACTERS} />
      ),
    },
    { title: 'State', width: '9rem', cell: (source) => <SourceState source={source} /> },
    { title: 'Changed', width: '9rem', cell: ({ changedAt }) => <Time value={changedAt} form="ago" /> },
  ];
  if (open === undefined) return shown;
  const actions: Column<Source> = {
    title: 'Actions',
    width: '5rem',
    cell: (source) => <SourceMenu source={source} open={open} />,
  };
  return [...shown, actions];
}

const SourceMenu = ({
  source,
  open,
}: {
  readonly source: Source;
  readonly open: (action: SourceAction, source: Source) => void;
}): ReactNode => (
  <RowMenu
    label={`Actions of ${quoted(source.name)}`}
    actions={sourceActions(source).map(([action, title]) => ({
      title,
      onClick: () => open(action, source),
      ...(action === 'delete' && { tone: 'danger' }),
    }))}
  />
);

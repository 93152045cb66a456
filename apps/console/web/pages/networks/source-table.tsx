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
import * as texts from './source-texts.ts';

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
  const make = mayChange && <Button onClick={() => setMaking(true)}>{texts.newSource}</Button>;
  return (
    <Stack gap="sm" component="section" aria-label={texts.sourcesOfWebhooks}>
      <Group justify="space-between">
        <Title order={2}>{texts.sourcesOfWebhooks}</Title>
        {make}
      </Group>
      <CursorTable
        label={texts.sourcesOfWebhooks}
        isDense
        cursorName="sources"
        page={listed('/admin/ingest-gateway/admin/v1/networks/{networkId}/sources', { path: { networkId } })}
        rowKey={({ sourceId }) => sourceId}
        columns={columnsOf({ networkId, address, ...(mayChange && { open }) })}
        empty={
          <ListEmpty title={texts.noSourceYet} icon="live" action={make}>
            {texts.noSourceYetHint}
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
      title: texts.name,
      cell: ({ name, sourceId }) => (
        <Anchor
          component={Link}
          to={`/networks/${networkId}/sources/${sourceId}/deliveries`}
          size="sm"
          fw={600}
          aria-label={texts.deliveriesOf(quoted(name))}
        >
          {name}
        </Anchor>
      ),
    },
    { title: texts.scheme, width: '9rem', cell: ({ scheme }) => scheme },
    {
      title: texts.address,
      cell: ({ path, url }) => (
        <CodeText value={url ?? `${address}${path}`} label={texts.copyTheAddress} short={ADDRESS_CHARACTERS} />
      ),
    },
    { title: texts.state, width: '9rem', cell: (source) => <SourceState source={source} /> },
    { title: texts.changed, width: '9rem', cell: ({ changedAt }) => <Time value={changedAt} form="ago" /> },
  ];
  if (open === undefined) return shown;
  const actions: Column<Source> = {
    title: texts.actions,
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
    label={texts.actionsOf(quoted(source.name))}
    actions={sourceActions(source).map(([action, title]) => ({
      title,
      onClick: () => open(action, source),
      ...(action === 'delete' && { tone: 'danger' }),
    }))}
  />
);

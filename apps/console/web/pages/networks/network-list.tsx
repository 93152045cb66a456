import { useState, type ReactNode } from 'react';
import { Anchor, Button, Code } from '@mantine/core';
import { Link, useNavigate } from 'react-router';
import { listed, useReload } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { Time } from '../../shell/time.tsx';
import { NetworkForm } from './network-form.tsx';

/** All networks. */
export function NetworkList(): ReactNode {
  const [making, setMaking] = useState(false);
  const mayChange = useMayAdmin('ingest-gateway', 'admin:change');
  const navigate = useNavigate();
  const reload = useReload();
  const make = mayChange && <Button onClick={() => setMaking(true)}>New network</Button>;
  return (
    <Page
      title="Networks and keys"
      intro="A network has channels, keys that may write into them, and rate limits. A key belongs to one network."
      actions={
        <>
          <Button variant="default" component={Link} to="/events/refused">
            Refused deliveries
          </Button>
          {make}
        </>
      }
    >
      <CursorTable
        label="Networks"
        isDense
        tools={{
          searches: 'id or name',
          order: 'networkId',
          exports: mayChange ? { path: '/admin/ingest-gateway/admin/v1/networks/export', name: 'networks' } : undefined,
        }}
        page={listed('/admin/ingest-gateway/admin/v1/networks')}
        rowKey={({ networkId }) => networkId}
        columns={[
          {
            title: 'Network',
            sort: 'name',
            cell: ({ networkId, name }) => (
              <Anchor component={Link} to={`/networks/${networkId}`} fw={600} size="sm">
                {name ?? networkId}
              </Anchor>
            ),
          },
          {
            title: 'Id',
            sort: 'networkId',
            cell: ({ networkId }) => <CodeText value={networkId} label="the id of the network" />,
          },
          { title: 'Channels', cell: ({ channels }) => <Channels names={channels} /> },
          { title: 'Limit', cell: ({ limits }) => `${formatNumber(limits.ratePerSecond)} records/s` },
          {
            title: 'Made',
            width: '9rem',
            sort: '-createdAt',
            cell: ({ createdAt }) => <Time value={createdAt} form="day" />,
          },
        ]}
        empty={
          <ListEmpty title="No network yet" icon="networks" action={make}>
            A network is the first thing a sender needs: make one, then mint a key for it.
          </ListEmpty>
        }
      />
      {making && (
        <NetworkForm
          onClose={() => setMaking(false)}
          onSaved={({ networkId }) => {
            void reload('/admin/ingest-gateway/admin/v1/networks');
            void navigate(`/networks/${networkId}`);
          }}
        />
      )}
    </Page>
  );
}

const SHOWN_CHANNELS = 4;

/** The first few channel names; the first one is the default. */
export const Channels = ({ names }: { names: readonly string[] }): ReactNode => (
  <>
    {names.slice(0, SHOWN_CHANNELS).map((name) => (
      <Code key={name} mr={4}>
        {name}
      </Code>
    ))}
    {names.length > SHOWN_CHANNELS && `and ${names.length - SHOWN_CHANNELS} more`}
  </>
);

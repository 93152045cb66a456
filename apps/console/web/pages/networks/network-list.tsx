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
import * as texts from './texts.ts';

/** All networks. */
export function NetworkList(): ReactNode {
  const [making, setMaking] = useState(false);
  const mayChange = useMayAdmin('ingest-gateway', 'admin:change');
  const navigate = useNavigate();
  const reload = useReload();
  const make = mayChange && <Button onClick={() => setMaking(true)}>{texts.newNetwork}</Button>;
  return (
    <Page
      title={texts.networksAndKeys}
      intro={texts.networksAndKeysIntro}
      actions={
        <>
          <Button variant="default" component={Link} to="/events/refused">
            {texts.refusedDeliveries}
          </Button>
          {make}
        </>
      }
    >
      <CursorTable
        label={texts.networks}
        isDense
        tools={{
          searches: texts.wordsInIdOrName,
          order: 'networkId',
          exports: mayChange ? { path: '/admin/ingest-gateway/admin/v1/networks/export', name: 'networks' } : undefined,
        }}
        page={listed('/admin/ingest-gateway/admin/v1/networks')}
        rowKey={({ networkId }) => networkId}
        columns={[
          {
            title: texts.network,
            sort: 'name',
            cell: ({ networkId, name }) => (
              <Anchor component={Link} to={`/networks/${networkId}`} fw={600} size="sm">
                {name ?? networkId}
              </Anchor>
            ),
          },
          {
            title: texts.id,
            sort: 'networkId',
            cell: ({ networkId }) => <CodeText value={networkId} label={texts.copyTheIdOfTheNetwork} />,
          },
          { title: texts.channels, cell: ({ channels }) => <Channels names={channels} /> },
          { title: texts.limit, cell: ({ limits }) => texts.recordsASecond(formatNumber(limits.ratePerSecond)) },
          {
            title: texts.made,
            width: '9rem',
            sort: '-createdAt',
            cell: ({ createdAt }) => <Time value={createdAt} form="day" />,
          },
        ]}
        empty={
          <ListEmpty title={texts.noNetworkYet} icon="networks" action={make}>
            {texts.noNetworkYetHint}
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
    {names.length > SHOWN_CHANNELS && texts.andMore(names.length - SHOWN_CHANNELS)}
  </>
);

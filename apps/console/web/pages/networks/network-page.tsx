import { useState, type ReactNode } from 'react';
import { Anchor, Button, Group, Paper, SimpleGrid, Text } from '@mantine/core';
import { Link, useNavigate, useParams } from 'react-router';
import { api, server, useReload } from '../../shell/api.ts';
import { CodeText } from '../../shell/code-text.tsx';
import { formatNumber } from '../../shell/formats.ts';
import { Unread } from '../../shell/list-states.tsx';
import { Fact, Page } from '../../shell/page.tsx';
import { useMayAdmin } from '../../shell/mine.ts';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { KeyTable } from './key-table.tsx';
import { NetworkForm, type Network } from './network-form.tsx';
import { Channels } from './network-list.tsx';
import { SourceTable } from './source-table.tsx';
import * as texts from './texts.ts';

const above = [{ title: texts.networksAndKeys, to: '/networks' }];

/** One network: limits, keys, webhook sources. */
export function NetworkPage(): ReactNode {
  const { networkId = '' } = useParams();
  const network = api.useQuery('get', '/admin/ingest-gateway/admin/v1/networks/{networkId}', {
    params: { path: { networkId } },
  });
  if (network.data === undefined) {
    return (
      <Page title={networkId} above={above}>
        <Unread read={network} />
      </Page>
    );
  }
  return <Shown network={network.data} />;
}

function Shown({ network }: { network: Network }): ReactNode {
  const { networkId } = network;
  const [open, setOpen] = useState<'change' | 'delete'>();
  const mayChange = useMayAdmin('ingest-gateway', 'admin:change');
  const reload = useReload();
  const navigate = useNavigate();
  const again = (): void => void reload('/admin/ingest-gateway/admin/v1/networks');
  return (
    <Page
      title={network.name ?? networkId}
      above={above}
      actions={
        mayChange && (
          <>
            <Button variant="default" onClick={() => setOpen('change')}>
              {texts.change}
            </Button>
            <Button variant="default" onClick={() => setOpen('delete')}>
              {texts.remove}
            </Button>
          </>
        )
      }
    >
      <Paper>
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="md">
          <Fact label={texts.id}>
            <CodeText value={networkId} label={texts.copyTheIdOfTheNetwork} />
          </Fact>
          <Fact label={texts.channels}>
            <Channels names={network.channels} />
          </Fact>
          <Fact label={texts.limit}>
            {texts.recordsASecondAndAtOnce(
              formatNumber(network.limits.ratePerSecond),
              formatNumber(network.limits.burst),
            )}
          </Fact>
          <Fact label={texts.made}>
            <Time value={network.createdAt} />
          </Fact>
        </SimpleGrid>
        <Group gap="md" mt="md">
          <Anchor component={Link} to={`/events?networkId=${networkId}`} size="sm">
            {texts.itsEvents}
          </Anchor>
          <Anchor component={Link} to={`/events/refused?networkId=${networkId}`} size="sm">
            {texts.itsRefusedDeliveries}
          </Anchor>
          {network.channels.map((name) => (
            <Anchor key={name} component={Link} to={`/ledger/${networkId}.${name}`} size="sm">
              {texts.ledgerOf(name)}
            </Anchor>
          ))}
        </Group>
      </Paper>
      <KeyTable networkId={networkId} mayChange={mayChange} />
      <SourceTable networkId={networkId} channels={network.channels} mayChange={mayChange} />
      {open === 'change' && <NetworkForm network={network} onClose={() => setOpen(undefined)} onSaved={again} />}
      {open === 'delete' && (
        <ConfirmDialog
          title={texts.deleteNamed(networkId)}
          action={texts.deleteTheNetwork}
          tone="danger"
          typed={networkId}
          run={() =>
            server.DELETE('/admin/ingest-gateway/admin/v1/networks/{networkId}', { params: { path: { networkId } } })
          }
          onDone={() => {
            again();
            void navigate('/networks');
          }}
          onClose={() => setOpen(undefined)}
        >
          <Text size="sm">{texts.deleteHint}</Text>
        </ConfirmDialog>
      )}
    </Page>
  );
}

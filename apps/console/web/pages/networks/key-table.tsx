import type { ReactNode } from 'react';
import { Group, Stack, Text, Title } from '@mantine/core';
import { listed, server } from '../../shell/api.ts';
import { useKeysPanel } from '../keys-panel.tsx';
import { curlLine, useGatewayAddress } from './curl-line.ts';
import { type Key, type MintedKey, MintForm } from './mint-form.tsx';

interface KeyTableProps {
  readonly networkId: string;
  readonly mayChange: boolean;
}

/** The keys of a network, live and recently ended. */
export function KeyTable({ networkId, mayChange }: KeyTableProps): ReactNode {
  const address = useGatewayAddress();
  const { button, panel } = useKeysPanel<Key, MintedKey>({
    label: 'Keys',
    cursorName: 'keys',
    page: listed('/admin/ingest-gateway/admin/v1/networks/{networkId}/keys', { path: { networkId } }),
    rights: { title: 'May', cell: (key) => <Allowed keyView={key} /> },
    may: { mint: mayChange, revoke: mayChange },
    mintTitle: 'Mint a key',
    emptyText: 'A key of this network may write into its channels.',
    dialog: (props) => <MintForm networkId={networkId} {...props} />,
    curlOf: ({ rawKey: key }) => curlLine({ address, networkId, key }),
    revoke: ({ id }) =>
      server.DELETE('/admin/ingest-gateway/admin/v1/networks/{networkId}/keys/{id}', {
        params: { path: { networkId, id } },
      }),
    revokedText: 'From the next request on, it is refused everywhere. What it wrote stays.',
  });
  return (
    <Stack gap="sm" component="section" aria-label="Keys">
      <Group justify="space-between">
        <Title order={2}>Keys</Title>
        {button}
      </Group>
      {panel}
    </Stack>
  );
}

const SHOWN_TYPES = 3;

function Allowed({ keyView: { permissions, allowedAssetTypes: types, record } }: { keyView: Key }): ReactNode {
  const may = permissions === null ? 'everything' : permissions.length === 0 ? 'nothing' : permissions.join(', ');
  const more = (types?.length ?? 0) > SHOWN_TYPES ? ` and ${(types?.length ?? 0) - SHOWN_TYPES} more` : '';
  const which =
    types === null ? 'all types' : types.length === 0 ? 'no type' : `${types.slice(0, SHOWN_TYPES).join(', ')}${more}`;
  return (
    <div>
      {may}{' '}
      <Text span size="xs" c="dimmed" className="wrap">
        {which}, {record === 'whole' ? 'whole body' : 'envelope'}
      </Text>
    </div>
  );
}

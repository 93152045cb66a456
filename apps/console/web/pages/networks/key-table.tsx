import type { ReactNode } from 'react';
import { Group, Stack, Text, Title } from '@mantine/core';
import { listed, server } from '../../shell/api.ts';
import { useKeysPanel } from '../keys-panel.tsx';
import { curlLine, useGatewayAddress } from './curl-line.ts';
import { type Key, type MintedKey, MintForm } from './mint-form.tsx';
import * as texts from './texts.ts';

interface KeyTableProps {
  readonly networkId: string;
  readonly mayChange: boolean;
}

/** The keys of a network, live and recently ended. */
export function KeyTable({ networkId, mayChange }: KeyTableProps): ReactNode {
  const address = useGatewayAddress();
  const { button, panel } = useKeysPanel<Key, MintedKey>({
    label: texts.keys,
    cursorName: 'keys',
    page: listed('/admin/ingest-gateway/admin/v1/networks/{networkId}/keys', { path: { networkId } }),
    rights: { title: texts.may, cell: (key) => <Allowed keyView={key} /> },
    may: { mint: mayChange, revoke: mayChange },
    mintTitle: texts.mintAKey,
    emptyText: texts.noKeyYetHint,
    dialog: (props) => <MintForm networkId={networkId} {...props} />,
    curlOf: ({ rawKey: key }) => curlLine({ address, networkId, key }),
    revoke: ({ id }) =>
      server.DELETE('/admin/ingest-gateway/admin/v1/networks/{networkId}/keys/{id}', {
        params: { path: { networkId, id } },
      }),
    revokedText: texts.revokedKeyHint,
  });
  return (
    <Stack gap="sm" component="section" aria-label={texts.keys}>
      <Group justify="space-between">
        <Title order={2}>{texts.keys}</Title>
        {button}
      </Group>
      {panel}
    </Stack>
  );
}

const SHOWN_TYPES = 3;

function Allowed({ keyView: { permissions, allowedAssetTypes: types, record } }: { keyView: Key }): ReactNode {
  const may =
    permissions === null ? texts.everything : permissions.length === 0 ? texts.nothing : permissions.join(', ');
  const first = types?.slice(0, SHOWN_TYPES).join(', ') ?? '';
  const more = (types?.length ?? 0) - SHOWN_TYPES;
  const some = more > 0 ? texts.listAndMore(first, more) : first;
  const which = types === null ? texts.allTypes : types.length === 0 ? texts.noType : some;
  return (
    <div>
      {may}{' '}
      <Text span size="xs" c="dimmed" className="wrap">
        {which}, {record === 'whole' ? texts.wholeBody : texts.envelope}
      </Text>
    </div>
  );
}

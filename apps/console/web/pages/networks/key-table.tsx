import { useState, type ReactNode } from 'react';
import { Button, Code, Group, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { quoted } from '../../shell/quoted.ts';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { KeyShown } from '../key-shown.tsx';
import { KeyState, isValid } from '../key-state.tsx';
import { curlLine, useGatewayAddress } from './curl-line.ts';
import { type Key, type MintedKey, MintForm } from './mint-form.tsx';

interface KeyTableProps {
  readonly networkId: string;
  readonly mayChange: boolean;
}

type Open = { readonly do: 'mint' } | { readonly do: 'rotate' | 'revoke'; readonly key: Key };

/** The keys of a network, live and recently ended. */
export function KeyTable({ networkId, mayChange }: KeyTableProps): ReactNode {
  const [open, setOpen] = useState<Open>();
  const [minted, setMinted] = useState<MintedKey | undefined>();
  const queries = useQueryClient();
  const address = useGatewayAddress();
  const close = (): void => setOpen(undefined);
  const mint = mayChange && <Button onClick={() => setOpen({ do: 'mint' })}>Mint a key</Button>;
  return (
    <Stack gap="sm" component="section" aria-label="Keys">
      <Group justify="space-between">
        <Title order={2}>Keys</Title>
        {mint}
      </Group>
      <CursorTable
        label="Keys"
        cursorName="keys"
        queryKey={['keys', networkId]}
        load={(cursor, signal) =>
          dataOf(
            ingestAdmin.GET('/admin/v1/networks/{networkId}/keys', {
              params: { path: { networkId }, query: { limit: 50, ...(cursor && { cursor }) } },
              signal,
            }),
          )
        }
        rowKey={({ id }) => id}
        columns={[
          { title: 'Label', cell: (key) => <KeyName keyView={key} /> },
          { title: 'May', cell: (key) => <Allowed keyView={key} /> },
          { title: 'State', cell: (key) => <KeyState times={key} /> },
          {
            title: 'Last used',
            width: '9rem',
            cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time value={lastUsedAt} form="ago" />),
          },
          {
            title: 'Actions',
            width: '11rem',
            cell: (key) =>
              mayChange && isValid(key) ? <KeyActions onOpen={(what) => setOpen({ do: what, key })} /> : null,
          },
        ]}
        empty={
          <ListEmpty title="No key yet" icon="networks" action={mint}>
            A key of this network may write into its channels.
          </ListEmpty>
        }
      />
      {open !== undefined && (
        <KeyDialog
          networkId={networkId}
          open={open}
          onClose={close}
          onDone={(key) => {
            close();
            void queries.invalidateQueries({ queryKey: ['keys', networkId] });
            setMinted(key);
          }}
        />
      )}
      {minted !== undefined && (
        <KeyShown
          label={minted.label}
          rawKey={minted.rawKey}
          curl={curlLine({ address, networkId, key: minted.rawKey })}
          onClose={() => setMinted(undefined)}
        />
      )}
    </Stack>
  );
}

const KeyActions = ({ onOpen }: { onOpen: (what: 'rotate' | 'revoke') => void }): ReactNode => (
  <Group gap={4}>
    <Button size="compact-sm" variant="default" onClick={() => onOpen('rotate')}>
      Rotate
    </Button>
    <Button size="compact-sm" variant="default" onClick={() => onOpen('revoke')}>
      Revoke
    </Button>
  </Group>
);

interface KeyDialogProps {
  readonly networkId: string;
  readonly open: Open;
  readonly onClose: () => void;
  /** Called with the new key, if one was minted. */
  readonly onDone: (minted?: MintedKey) => void;
}

function KeyDialog({ networkId, open, onClose, onDone }: KeyDialogProps): ReactNode {
  if (open.do !== 'revoke') {
    return (
      <MintForm
        networkId={networkId}
        {...('key' in open && { replaces: open.key })}
        onClose={onClose}
        onMinted={onDone}
      />
    );
  }
  const { id, label, keyPrefix } = open.key;
  return (
    <ConfirmDialog
      title={`Revoke ${quoted(label)}`}
      action="Revoke the key"
      tone="danger"
      run={() =>
        dataOf(ingestAdmin.DELETE('/admin/v1/networks/{networkId}/keys/{id}', { params: { path: { networkId, id } } }))
      }
      onDone={() => onDone()}
      onClose={onClose}
    >
      <Text size="sm">
        From the next request on, <Code>{keyPrefix}…</Code> is refused everywhere. What it wrote stays.
      </Text>
    </ConfirmDialog>
  );
}

const KeyName = ({ keyView }: { keyView: Key }): ReactNode => (
  <Stack gap={0}>
    <span className="wrap">{keyView.label}</span>
    <Code w="fit-content">{keyView.keyPrefix}…</Code>
  </Stack>
);

const SHOWN_TYPES = 3;

function Allowed({ keyView: { permissions, allowedAssetTypes: types, record } }: { keyView: Key }): ReactNode {
  const may = permissions === null ? 'everything' : permissions.length === 0 ? 'nothing' : permissions.join(', ');
  const more = (types?.length ?? 0) > SHOWN_TYPES ? ` and ${(types?.length ?? 0) - SHOWN_TYPES} more` : '';
  const which =
    types === null ? 'all types' : types.length === 0 ? 'no type' : `${types.slice(0, SHOWN_TYPES).join(', ')}${more}`;
  return (
    <Stack gap={0}>
      <span>{may}</span>
      <Text size="xs" c="dimmed" className="wrap">
        {which}, {record === 'whole' ? 'whole body' : 'envelope'}
      </Text>
    </Stack>
  );
}

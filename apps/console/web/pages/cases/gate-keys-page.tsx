import { useState, type ReactNode } from 'react';
import { Button, Group, MultiSelect, Text, TextInput } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { useMutation } from '@tanstack/react-query';
import { getJson, sendJson } from '../../shell/console-fetch.ts';
import { CursorTable } from '../../shell/cursor-table.tsx';
import { ListEmpty } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { KeyShown } from '../key-shown.tsx';
import { KeyState, isValid } from '../key-state.tsx';
import { adminPath, type Page as PageOf } from './case-api.ts';
import { useEnvironment } from './environment.tsx';

type Key = Schemas['caseGateAdmin']['Key'];
type MintedKey = Schemas['caseGateAdmin']['MintedKey'];

const SCOPES = [
  'gate:check',
  'eligibility:read',
  'case:read',
  'case:write',
  'case:decide',
  'case:override',
  'case:seal',
  'case:export',
];

type Open =
  | { readonly what: 'mint' }
  | { readonly what: 'rotate' | 'revoke'; readonly key: Key }
  | { readonly what: 'shown'; readonly minted: MintedKey };

/** Keys of this environment: for tablets at venues, and for programs that manage cases. */
export function GateKeysPage(): ReactNode {
  const { name, isOperator, read, reload } = useEnvironment();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const minted = (key: MintedKey) => {
    setOpen({ what: 'shown', minted: key });
    reload();
  };
  return (
    <Page
      title="Gate keys"
      intro="A tablet at a door needs a key with the scope gate:check and nothing else."
      actions={isOperator && <Button onClick={() => setOpen({ what: 'mint' })}>New key</Button>}
    >
      <CursorTable
        label="Gate keys"
        queryKey={['cases', name, 'keys']}
        load={(cursor) => read<PageOf<Key>>('/keys', { cursor, limit: '50' })}
        rowKey={({ id }) => id}
        columns={[
          { title: 'Label', cell: ({ label }) => <strong>{label}</strong> },
          { title: 'Begins with', width: '10rem', cell: ({ keyPrefix }) => <code>{keyPrefix}</code> },
          { title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
          {
            title: 'State',
            width: '7rem',
            cell: (key) => <KeyState times={key} />,
          },
          {
            title: 'Last used',
            width: '9rem',
            cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : <Time value={lastUsedAt} form="ago" />),
          },
          {
            title: 'Actions',
            width: '11rem',
            cell: (key) => isOperator && isValid(key) && <KeyActions onOpen={(what) => setOpen({ what, key })} />,
          },
        ]}
        empty={
          <ListEmpty title="No key yet" icon="networks">
            A venue and each program have a key of their own.
          </ListEmpty>
        }
      />
      {(open?.what === 'mint' || open?.what === 'rotate') && (
        <MintDialog replaced={open.what === 'rotate' ? open.key : undefined} onMinted={minted} onClose={close} />
      )}
      {open?.what === 'shown' && <KeyShown {...open.minted} onClose={close} curl={curlOf(open.minted.rawKey)} />}
      {open?.what === 'revoke' && (
        <ConfirmDialog
          title="Revoke this key?"
          action="Revoke"
          tone="danger"
          onClose={close}
          run={() => getJson(adminPath(`/keys/${open.key.id}`, { environment: name }), { method: 'DELETE' })}
          onDone={() => {
            close();
            reload();
          }}
        >
          <Text size="sm" className="wrap">
            {open.key.label}: <code>{open.key.keyPrefix}</code>. A tablet that uses it shows DENY from now on.
          </Text>
        </ConfirmDialog>
      )}
    </Page>
  );
}

const curlOf = (key: string): string =>
  `curl "$CASE_GATE_URL/v1/gate/check" -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" -d '{"subject_ref":"subj_ada","venue_id":"hall"}'`;

const KeyActions = ({ onOpen }: { readonly onOpen: (what: 'rotate' | 'revoke') => void }): ReactNode => (
  <Group gap={6}>
    <Button size="compact-sm" variant="default" onClick={() => onOpen('rotate')}>
      Rotate
    </Button>
    <Button size="compact-sm" variant="default" onClick={() => onOpen('revoke')}>
      Revoke
    </Button>
  </Group>
);

/** How long a rotated key stays valid. */
const OVERLAP_SECONDS = 86_400;

function MintDialog({
  replaced,
  onMinted,
  onClose,
}: {
  readonly replaced: Key | undefined;
  readonly onMinted: (minted: MintedKey) => void;
  readonly onClose: () => void;
}): ReactNode {
  const { name } = useEnvironment();
  const [label, setLabel] = useState(replaced?.label ?? '');
  const [scopes, setScopes] = useState<string[]>(replaced?.scopes ?? ['gate:check']);
  const mint = useMutation({
    mutationFn: () =>
      sendJson<MintedKey>('/admin/case-gate/admin/v1/keys', {
        label: label.trim(),
        environment: name,
        scopes,
        ...(replaced !== undefined && { replaces: replaced.id, overlapSeconds: OVERLAP_SECONDS }),
      }),
    onSuccess: onMinted,
  });
  const isReady = label.trim() !== '' && scopes.length > 0;
  return (
    <FormDialog
      title={replaced === undefined ? 'New gate key' : 'Rotate the key'}
      action={replaced === undefined ? 'Create key' : 'Rotate'}
      doing={mint}
      onSubmit={() => mint.mutate()}
      isReady={isReady}
      onClose={onClose}
    >
      <TextInput
        label="Label"
        required
        maxLength={200}
        value={label}
        data-autofocus
        onChange={(event) => setLabel(event.currentTarget.value)}
      />
      <MultiSelect label="Scopes" data={SCOPES} value={scopes} onChange={setScopes} required />
      {replaced !== undefined && (
        <Text size="sm">The old key stays valid for one day, so that every tablet can be given the new one.</Text>
      )}
    </FormDialog>
  );
}

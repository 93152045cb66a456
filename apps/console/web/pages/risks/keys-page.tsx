import { useState, type ReactNode } from 'react';
import { Button, Group, Select, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { dataOf } from '../../shell/console-fetch.ts';
import { PlainTable } from '../../shell/cursor-table.tsx';
import { ListEmpty, Unread } from '../../shell/list-states.tsx';
import { Page } from '../../shell/page.tsx';
import { Time } from '../../shell/time.tsx';
import { ConfirmDialog } from '../confirm-dialog.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { KeyShown } from '../key-shown.tsx';
import { KeyState, isValid } from '../key-state.tsx';
import { useOrganization } from './organization.tsx';
import type { RiskSchemas } from './risk-api.ts';

type Key = RiskSchemas['Key'];

type Open =
  | { readonly what: 'mint' }
  | { readonly what: 'rotate' | 'revoke'; readonly key: Key }
  | { readonly what: 'shown'; readonly minted: RiskSchemas['MintedKey'] };

/** How long a rotated key stays valid. */
const OVERLAPS = [
  { value: '0', label: 'Not at all' },
  { value: '3600', label: 'One hour' },
  { value: '86400', label: 'One day' },
  { value: '604800', label: 'Seven days' },
];

/** The person's own keys: mint, rotate, revoke. */
export function KeysPage(): ReactNode {
  const { id: orgId, client, may } = useOrganization();
  const queries = useQueryClient();
  const [open, setOpen] = useState<Open>();
  const found = useQuery({ queryKey: ['risks', orgId, 'keys'], queryFn: () => dataOf(client.GET('/api/api-keys')) });
  const reload = () => queries.invalidateQueries({ queryKey: ['risks', orgId, 'keys'] });
  const close = () => setOpen(undefined);
  return (
    <Page
      title="My keys"
      intro="A key may do what you may in this organisation, by REST and by tools. It is shown once, when it is made."
      actions={may('apiKey:create') && <Button onClick={() => setOpen({ what: 'mint' })}>New key</Button>}
    >
      <Unread read={found} />
      {found.data !== undefined && <KeyTable keys={found.data} onOpen={setOpen} />}
      {(open?.what === 'mint' || open?.what === 'rotate') && (
        <MintDialog
          replaced={open.what === 'rotate' ? open.key : undefined}
          onClose={close}
          onMinted={(minted) => {
            setOpen({ what: 'shown', minted });
            void reload();
          }}
        />
      )}
      {open?.what === 'shown' && (
        <KeyShown
          {...open.minted}
          onClose={close}
          curl={`curl -H "Authorization: Bearer ${open.minted.rawKey}" "$RISK_PARTNER_URL/api/risks?limit=5"`}
        />
      )}
      {open?.what === 'revoke' && (
        <ConfirmDialog
          title="Revoke this key?"
          action="Revoke"
          tone="danger"
          onClose={close}
          run={() => dataOf(client.DELETE('/api/api-keys/{id}', { params: { path: { id: open.key.id } } }))}
          onDone={() => {
            close();
            void reload();
          }}
        >
          <Text size="sm" className="wrap">
            {open.key.label}: <code>{open.key.keyPrefix}</code>. Whatever uses it is refused from the next request on.
          </Text>
        </ConfirmDialog>
      )}
    </Page>
  );
}

function KeyTable({
  keys,
  onOpen,
}: {
  readonly keys: readonly Key[];
  readonly onOpen: (open: Open) => void;
}): ReactNode {
  const { may } = useOrganization();
  const actions = (key: Key): ReactNode =>
    isValid(key) && (
      <Group gap={6}>
        {may('apiKey:create') && (
          <Button size="compact-sm" variant="default" onClick={() => onOpen({ what: 'rotate', key })}>
            Rotate
          </Button>
        )}
        {may('apiKey:delete') && (
          <Button size="compact-sm" variant="default" onClick={() => onOpen({ what: 'revoke', key })}>
            Revoke
          </Button>
        )}
      </Group>
    );
  return (
    <PlainTable
      label="My keys"
      rows={keys}
      rowKey={({ id }) => id}
      columns={[
        { title: 'Label', cell: ({ label }) => <strong>{label}</strong> },
        { title: 'Begins with', width: '12rem', cell: ({ keyPrefix }) => <code>{keyPrefix}</code> },
        { title: 'State', width: '7rem', cell: (key) => <KeyState times={key} /> },
        { title: 'Made', width: '9rem', cell: ({ createdAt }) => <Time value={createdAt} form="ago" /> },
        {
          title: 'Last used',
          width: '9rem',
          cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : <Time value={lastUsedAt} form="ago" />),
        },
        { title: 'Actions', width: '12rem', cell: actions },
      ]}
      empty={<ListEmpty title="No key yet">Make one for a program that acts for you.</ListEmpty>}
    />
  );
}

function MintDialog({
  replaced,
  onMinted,
  onClose,
}: {
  readonly replaced: Key | undefined;
  readonly onMinted: (minted: RiskSchemas['MintedKey']) => void;
  readonly onClose: () => void;
}): ReactNode {
  const { client } = useOrganization();
  const [label, setLabel] = useState(replaced?.label ?? '');
  const [overlap, setOverlap] = useState('86400');
  const mint = useMutation({
    mutationFn: () =>
      dataOf(
        client.POST('/api/api-keys', {
          body: { label, ...(replaced !== undefined && { replaces: replaced.id, overlapSeconds: Number(overlap) }) },
        }),
      ),
    onSuccess: onMinted,
  });
  return (
    <FormDialog
      title={replaced === undefined ? 'New key' : 'Rotate the key'}
      action={replaced === undefined ? 'Create key' : 'Rotate'}
      doing={mint}
      onSubmit={() => mint.mutate()}
      isReady={label.trim() !== ''}
      onClose={onClose}
    >
      <TextInput
        label="Label"
        description="What uses the key."
        required
        maxLength={100}
        value={label}
        onChange={(event) => setLabel(event.currentTarget.value)}
        data-autofocus
      />
      {replaced !== undefined && (
        <Select
          label="The old key stays valid for"
          data={OVERLAPS}
          allowDeselect={false}
          value={overlap}
          onChange={(value) => setOverlap(value ?? '0')}
        />
      )}
    </FormDialog>
  );
}

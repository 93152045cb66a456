import { useState, type ReactNode } from 'react';
import { MultiSelect, Text, TextInput } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { useMutation } from '@tanstack/react-query';
import { getJson, sendJson } from '../../shell/console-fetch.ts';
import { Page } from '../../shell/page.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { useKeysPanel } from '../keys-panel.tsx';
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

/** Keys of this environment: for tablets at venues, and for programs that manage cases. */
export function GateKeysPage(): ReactNode {
  const { name, isOperator, read } = useEnvironment();
  const { button, panel } = useKeysPanel<Key, MintedKey>({
    label: 'Gate keys',
    queryKey: ['cases', name, 'keys'],
    load: (cursor) => read<PageOf<Key>>('/keys', { cursor, limit: '50' }),
    rights: {
      title: 'Scopes',
      cell: ({ scopes }) =>
        SCOPES.every((one) => scopes.some((scope) => scope === one)) ? 'everything' : scopes.join(', '),
    },
    may: { mint: isOperator, revoke: isOperator },
    mintTitle: 'New key',
    emptyText: 'A venue and each program have a key of their own.',
    dialog: (props) => <MintDialog {...props} />,
    curlOf,
    revoke: ({ id }) => getJson(adminPath(`/keys/${id}`, { environment: name }), { method: 'DELETE' }),
    revokedText: 'A tablet that uses it shows DENY from now on.',
  });
  return (
    <Page
      title="Gate keys"
      intro="A tablet at a door needs a key with the scope gate:check and nothing else."
      actions={button}
    >
      {panel}
    </Page>
  );
}

const curlOf = (key: string): string =>
  `curl "$CASE_GATE_URL/v1/gate/check" -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" -d '{"subject_ref":"subj_ada","venue_id":"hall"}'`;

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

import { useState, type ReactNode } from 'react';
import { TextInput } from '@mantine/core';
import type { Schemas } from '@sealgate/client';
import { useMutation, useQuery } from '@tanstack/react-query';
import { getJson, sendJson } from '../../shell/console-fetch.ts';
import { Page } from '../../shell/page.tsx';
import { usePublicUrl } from '../../shell/session.ts';
import { ClosingMultiSelect } from '../closing-multi-select.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { useKeysPanel, type MintProps } from '../keys-panel.tsx';
import { useRotationTerms } from '../rotation-terms.tsx';
import { adminPath, type Page as PageOf, type Venue } from './case-api.ts';
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
    curlOf: useCurl(),
    reachOf: ({ environment, scopes }) => [
      ['Environment', environment],
      ['Venues and subjects', `all of ${environment}: a key is not bound to a venue, the tablet names its own`],
      ['Scopes', scopes.join(', ')],
    ],
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

/** A check of the gate at the venue that the label names, else the first open one, of a subject that exists. */
function useCurl(): (minted: MintedKey) => string {
  const { name, isOperator, read } = useEnvironment();
  const address = usePublicUrl('case-gate', 'https://YOUR-CASE-GATE');
  const known = useQuery({
    queryKey: ['cases', name, 'to try'],
    queryFn: async () => {
      const [venues, subjects] = await Promise.all([
        read<PageOf<Venue>>('/venues', { limit: '200' }),
        read<PageOf<{ readonly subject_ref: string }>>('/subjects', { limit: '1' }),
      ]);
      return { venues: venues.items.filter(({ active }) => active), subject: subjects.items[0]?.subject_ref };
    },
    enabled: isOperator,
  });
  return ({ rawKey, label, scopes }) => {
    const key = `-H 'Authorization: Bearer ${rawKey}'`;
    if (!scopes.includes('gate:check') && scopes.includes('case:read'))
      return `curl -sS '${address}/v1/cases?limit=5' ${key}`;
    const { venues = [], subject = 'SUBJECT_REF' } = known.data ?? {};
    const isNamed = (word: string) => label.toLowerCase().includes(word.toLowerCase());
    const venue = venues.find((one) => isNamed(one.venue_id) || isNamed(one.name)) ?? venues[0];
    const question = { subject_ref: subject, venue_id: venue?.venue_id ?? 'VENUE_ID' };
    const body = JSON.stringify(question).replaceAll("'", String.raw`'\''`);
    return `curl -sS '${address}/v1/gate/check' ${key} -H 'Content-Type: application/json' -d '${body}'`;
  };
}

function MintDialog({ replaced, isLeaked, onMinted, onClose }: MintProps<Key, MintedKey>): ReactNode {
  const rotation = useRotationTerms(isLeaked);
  const { name } = useEnvironment();
  const [label, setLabel] = useState(replaced?.label ?? '');
  const [scopes, setScopes] = useState<string[]>(replaced?.scopes ?? ['gate:check']);
  const mint = useMutation({
    mutationFn: () =>
      sendJson<MintedKey>('/admin/case-gate/admin/v1/keys', {
        label: label.trim(),
        environment: name,
        scopes,
        ...(replaced !== undefined && { replaces: replaced.id, overlapSeconds: rotation.overlapSeconds }),
      }),
    onSuccess: onMinted,
  });
  const isReady = label.trim() !== '' && scopes.length > 0;
  return (
    <FormDialog
      title={replaced === undefined ? 'New gate key' : 'Rotate the key'}
      action={replaced === undefined ? 'Create key' : rotation.isLeaked ? 'End it and create another' : 'Rotate'}
      {...(replaced !== undefined && rotation.isLeaked && { tone: 'danger' })}
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
      <ClosingMultiSelect label="Scopes" data={SCOPES} value={scopes} onChange={setScopes} required />
      {replaced !== undefined && rotation.fields}
    </FormDialog>
  );
}

import type { ReactNode } from 'react';
import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { Schemas } from '@sealgate/client';
import { api, listed, server } from '../../shell/api.ts';
import { Page } from '../../shell/page.tsx';
import { usePublicUrl } from '../../shell/session.ts';
import { ClosingMultiSelect } from '../closing-multi-select.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { useKeysPanel, type MintProps } from '../keys-panel.tsx';
import { mintAction, overlapSecondsOf, RotationFields, rotationRules, rotationTerms } from '../rotation-terms.tsx';
import { useEnvironment, useVenues } from './environment.tsx';
import * as texts from './texts.ts';

type Key = Schemas['caseGateAdmin']['Key'];
type MintedKey = Schemas['caseGateAdmin']['MintedKey'];

const SCOPES: Key['scopes'] = [
  'gate:check',
  'eligibility:read',
  'case:read',
  'case:write',
  'case:decide',
  'case:override',
  'case:seal',
  'case:export',
];

/** What a tablet at a door needs. */
const DOOR: Key['scopes'] = ['gate:check'];

/** Keys of this environment: for tablets at venues, and for programs that manage cases. */
export function GateKeysPage(): ReactNode {
  const { name, isOperator } = useEnvironment();
  const { button, panel } = useKeysPanel<Key, MintedKey>({
    label: texts.gateKeys,
    page: listed('/admin/case-gate/admin/v1/keys', { query: { environment: name } }),
    rights: {
      title: texts.scopes,
      cell: ({ scopes }) =>
        SCOPES.every((one) => scopes.some((scope) => scope === one)) ? texts.everything : scopes.join(', '),
    },
    may: { mint: isOperator, revoke: isOperator },
    mintTitle: texts.newKey,
    emptyText: texts.noKeyYetHint,
    dialog: (props) => <MintDialog {...props} />,
    curlOf: useCurl(),
    reachOf: ({ environment, scopes }) => [
      [texts.environment, environment],
      [texts.venuesAndSubjects, texts.venuesAndSubjectsOf(environment)],
      [texts.scopes, scopes.join(', ')],
    ],
    revoke: ({ id }) =>
      server.DELETE('/admin/case-gate/admin/v1/keys/{id}', { params: { path: { id }, query: { environment: name } } }),
    revokedText: texts.revokedKeyHint,
  });
  return (
    <Page title={texts.gateKeys} intro={texts.gateKeysIntro} actions={button}>
      {panel}
    </Page>
  );
}

/** A check of the gate at the venue that the label names, else the first open one, of a subject that exists. */
function useCurl(): (minted: MintedKey) => string {
  const { name: environment, isOperator } = useEnvironment();
  const address = usePublicUrl('case-gate', 'https://YOUR-CASE-GATE');
  const known = useVenues(isOperator);
  const subjects = api.useQuery(
    'get',
    '/admin/case-gate/admin/v1/subjects',
    { params: { query: { environment, limit: 1 } } },
    { enabled: isOperator },
  );
  return ({ rawKey, label, scopes }) => {
    const key = `-H 'Authorization: Bearer ${rawKey}'`;
    if (!scopes.includes('gate:check') && scopes.includes('case:read'))
      return `curl -sS '${address}/v1/cases?limit=5' ${key}`;
    const venues = known.data?.items.filter(({ active }) => active) ?? [];
    const subject = subjects.data?.items[0]?.subject_ref ?? 'SUBJECT_REF';
    const isNamed = (word: string) => label.toLowerCase().includes(word.toLowerCase());
    const venue = venues.find((one) => isNamed(one.venue_id) || isNamed(one.name)) ?? venues[0];
    const question = { subject_ref: subject, venue_id: venue?.venue_id ?? 'VENUE_ID' };
    const body = JSON.stringify(question).replaceAll("'", String.raw`'\''`);
    return `curl -sS '${address}/v1/gate/check' ${key} -H 'Content-Type: application/json' -d '${body}'`;
  };
}

function MintDialog({ replaced, isLeaked, onMinted, onClose }: MintProps<Key, MintedKey>): ReactNode {
  const { name: environment } = useEnvironment();
  const mint = api.useMutation('post', '/admin/case-gate/admin/v1/keys', { onSuccess: onMinted });
  const form = useForm({
    initialValues: {
      label: replaced?.label ?? '',
      scopes: replaced?.scopes ?? DOOR,
      rotation: rotationTerms(isLeaked),
    },
    validate: { label: filled, scopes: filled, rotation: rotationRules },
  });
  return (
    <FormDialog
      title={replaced === undefined ? texts.newGateKey : texts.rotateTheKey}
      {...mintAction(replaced !== undefined, form.values.rotation, {
        create: texts.createKey,
        rotate: texts.rotate,
        endAndCreate: texts.endItAndCreateAnother,
      })}
      form={form}
      doing={mint}
      onSubmit={({ label, scopes, rotation }) =>
        mint.mutate({
          body: {
            label: label.trim(),
            environment,
            scopes: scopes as Schemas['caseGateAdmin']['Scope'][],
            ...(replaced !== undefined && { replaces: replaced.id, overlapSeconds: overlapSecondsOf(rotation) }),
          },
        })
      }
      onClose={onClose}
    >
      <TextInput label={texts.label} required maxLength={200} data-autofocus {...form.getInputProps('label')} />
      <ClosingMultiSelect label={texts.scopes} data={SCOPES} required {...form.getInputProps('scopes')} />
      {replaced !== undefined && <RotationFields terms={form.values.rotation} propsOf={form.getInputProps} />}
    </FormDialog>
  );
}

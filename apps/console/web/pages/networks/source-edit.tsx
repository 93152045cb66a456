import { useState, type ReactNode } from 'react';
import { Group, NumberInput, Select, SimpleGrid, Switch, TagsInput, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { Schemas } from '@sealgate/client';
import { dataOf } from '../../shell/console-fetch.ts';
import { quoted } from '../../shell/quoted.ts';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { ClosingMultiSelect } from '../closing-multi-select.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { commonSignature, HmacFields, sentSignature } from './hmac-fields.tsx';
import type { Source } from './source-presets.ts';

type Change = Schemas['ingestGatewayAdmin']['ChangeSourceRequest'];

interface EditProps {
  readonly source: Source;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

type Places = 'type' | 'typeFrom' | 'deliveryIdFrom' | 'idFrom' | 'ownerFrom';

/** The fields of the form; a text that is empty stands for the default of the scheme. */
type Draft = Readonly<Record<'name' | Places, string>> & {
  readonly channels: string[];
  readonly allTypes: boolean;
  readonly allowedTypes: string[];
  readonly hasLimits: boolean;
  readonly ratePerSecond: string | number;
  readonly burst: string | number;
  readonly toleranceSeconds: string | number;
  readonly maxMebibytes: string | number;
  readonly keepRefusedHours: string | number;
  readonly signature: typeof commonSignature;
  readonly token: { readonly header: string; readonly prefix: string; readonly encoding: 'text' | 'base64' };
};

const MEBIBYTE = 1_048_576;
const PLACES: readonly (readonly [Places, string, string])[] = [
  ['type', 'Type of every record', 'Empty: it is taken from the delivery.'],
  ['typeFrom', 'Location of the type', 'header:X-Event, or /type in a JSON body.'],
  ['deliveryIdFrom', 'Location of the delivery id', 'Empty: that of the scheme, else the record id, else a hash.'],
  ['idFrom', 'Location of the record id', 'Empty: derived from source and delivery id.'],
  ['ownerFrom', 'Location of the owner', 'Empty: none.'],
];

const draftOf = (source: Source): Draft => ({
  name: source.name,
  type: source.type ?? '',
  typeFrom: source.typeFrom ?? '',
  deliveryIdFrom: source.deliveryIdFrom ?? '',
  idFrom: source.idFrom ?? '',
  ownerFrom: source.ownerFrom ?? '',
  channels: source.channels ?? [],
  allTypes: source.allowedTypes === null,
  allowedTypes: source.allowedTypes ?? [],
  hasLimits: source.limits !== null,
  ratePerSecond: source.limits?.ratePerSecond ?? 100,
  burst: source.limits?.burst ?? 200,
  toleranceSeconds: source.toleranceSeconds,
  maxMebibytes: source.maxBytes / MEBIBYTE,
  keepRefusedHours: source.keepRefusedHours,
  signature: { ...commonSignature, ...source.signature },
  token: { header: '', prefix: '', encoding: 'text', ...source.token },
});

/** The members of a change, all of them; those that do not differ from the source are left out of what is sent. */
function membersOf(
  draft: Draft,
  { scheme }: Source,
): Required<Omit<Change, 'enabled' | 'secrets' | 'usualToleranceSeconds' | 'signature' | 'token'>> & Change {
  const text = (value: string): string | null => (value.trim() === '' ? null : value.trim());
  return {
    name: draft.name.trim(),
    channels: draft.channels.length === 0 ? null : draft.channels,
    type: text(draft.type),
    // One excludes the other.
    typeFrom: draft.type.trim() === '' ? text(draft.typeFrom) : null,
    deliveryIdFrom: text(draft.deliveryIdFrom),
    idFrom: text(draft.idFrom),
    ownerFrom: text(draft.ownerFrom),
    toleranceSeconds: Number(draft.toleranceSeconds),
    allowedTypes: draft.allTypes ? null : draft.allowedTypes,
    limits: draft.hasLimits ? { ratePerSecond: Number(draft.ratePerSecond), burst: Number(draft.burst) } : null,
    maxBytes: Math.round(Number(draft.maxMebibytes) * MEBIBYTE),
    keepRefusedHours: Number(draft.keepRefusedHours),
    ...(scheme === 'hmac' && { signature: sentSignature(draft.signature) }),
    ...(scheme === 'token' && {
      token: {
        header: draft.token.header,
        prefix: draft.token.prefix,
        ...(draft.token.encoding === 'base64' && { encoding: 'base64' }),
      },
    }),
  };
}

/** What differs from the source as it was opened. */
export function changeOf(draft: Draft, source: Source): Change {
  const before: Readonly<Record<string, unknown>> = membersOf(draftOf(source), source);
  const entries = Object.entries(membersOf(draft, source));
  return Object.fromEntries(entries.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
}

/** Changes everything of a source that may change, but its secrets and whether it is paused. */
export function SourceEdit({ source, onDone, onClose }: EditProps): ReactNode {
  const { networkId, sourceId } = source;
  const [draft, setDraft] = useState(() => draftOf(source));
  const set = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }));
  const change = changeOf(draft, source);
  const saving = useMutation({
    mutationFn: () =>
      dataOf(
        ingestAdmin.PATCH('/admin/v1/networks/{networkId}/sources/{sourceId}', {
          params: { path: { networkId, sourceId } },
          body: change,
        }),
      ),
    onSuccess: onDone,
  });
  return (
    <FormDialog
      title={`Edit ${quoted(source.name)}`}
      action="Save"
      size="xl"
      doing={saving}
      isReady={Object.keys(change).length > 0}
      onSubmit={() => saving.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        required
        maxLength={200}
        value={draft.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <Bounds networkId={networkId} draft={draft} set={set} />
      <Types draft={draft} set={set} />
      {PLACES.map(
        ([name, label, description]) =>
          (name !== 'typeFrom' || draft.type.trim() === '') && (
            <TextInput
              key={name}
              label={label}
              description={description}
              value={draft[name]}
              onChange={(event) => set({ [name]: event.currentTarget.value })}
            />
          ),
      )}
      {source.scheme === 'hmac' && <HmacFields value={draft.signature} onChange={(signature) => set({ signature })} />}
      {source.scheme === 'token' && <TokenFields value={draft.token} onChange={(token) => set({ token })} />}
    </FormDialog>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly set: (changes: Partial<Draft>) => void;
}

function Types({ draft, set }: PartProps): ReactNode {
  return (
    <>
      <Switch
        label="It may deliver every type"
        checked={draft.allTypes}
        onChange={(event) => set({ allTypes: event.currentTarget.checked })}
      />
      {!draft.allTypes && (
        <TagsInput
          label="Types that it may deliver"
          description="Enter after each. None: it may deliver nothing."
          value={draft.allowedTypes}
          onChange={(allowedTypes) => set({ allowedTypes })}
        />
      )}
    </>
  );
}

function Bounds({ networkId, draft, set }: PartProps & { readonly networkId: string }): ReactNode {
  const network = useQuery({
    queryKey: ['networks', networkId],
    queryFn: ({ signal }) =>
      dataOf(ingestAdmin.GET('/admin/v1/networks/{networkId}', { params: { path: { networkId } }, signal })),
  });
  const known = [...new Set([...(network.data?.channels ?? []), ...draft.channels])];
  return (
    <>
      <ClosingMultiSelect
        label="Channels"
        description="None: the first of the network."
        data={known}
        value={draft.channels}
        onChange={(channels) => set({ channels })}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm">
        <NumberInput
          label="Clock tolerance (s)"
          min={1}
          max={86_400}
          required
          value={draft.toleranceSeconds}
          onChange={(toleranceSeconds) => set({ toleranceSeconds })}
        />
        <NumberInput
          label="Largest body (MiB)"
          min={1}
          max={25}
          required
          value={draft.maxMebibytes}
          onChange={(maxMebibytes) => set({ maxMebibytes })}
        />
        <NumberInput
          label="Keep refused (hours)"
          min={0}
          max={72}
          required
          value={draft.keepRefusedHours}
          onChange={(keepRefusedHours) => set({ keepRefusedHours })}
        />
      </SimpleGrid>
      <Switch
        label="It has a rate limit of its own"
        checked={draft.hasLimits}
        onChange={(event) => set({ hasLimits: event.currentTarget.checked })}
      />
      {draft.hasLimits && (
        <Group grow>
          <NumberInput
            label="Records per second"
            min={1}
            required
            value={draft.ratePerSecond}
            onChange={(ratePerSecond) => set({ ratePerSecond })}
          />
          <NumberInput label="At once" min={1} required value={draft.burst} onChange={(burst) => set({ burst })} />
        </Group>
      )}
    </>
  );
}

function TokenFields({
  value,
  onChange,
}: {
  readonly value: Draft['token'];
  readonly onChange: (value: Draft['token']) => void;
}): ReactNode {
  return (
    <Group grow align="flex-end">
      <TextInput
        label="Header of the token"
        required
        value={value.header}
        onChange={(event) => onChange({ ...value, header: event.currentTarget.value })}
      />
      <TextInput
        label="Text before the token"
        value={value.prefix}
        onChange={(event) => onChange({ ...value, prefix: event.currentTarget.value })}
      />
      <Select
        label="The token is sent as"
        data={[
          { value: 'text', label: 'text' },
          { value: 'base64', label: 'user:password in base64' },
        ]}
        allowDeselect={false}
        value={value.encoding}
        onChange={(encoding) => onChange({ ...value, encoding: encoding ?? 'text' })}
      />
    </Group>
  );
}

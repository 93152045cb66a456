import type { ReactNode } from 'react';
import { Group, NumberInput, Select, SimpleGrid, Switch, TagsInput, TextInput } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import { quoted } from '../../shell/quoted.ts';
import { ClosingMultiSelect } from '../closing-multi-select.tsx';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { commonSignature, HmacFields, sentSignature } from './hmac-fields.tsx';
import type { Source } from './source-presets.ts';
import * as texts from './source-texts.ts';

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
  readonly limits: { readonly ratePerSecond: string | number; readonly burst: string | number };
  readonly toleranceSeconds: string | number;
  /** In MiB. */
  readonly maxBytes: string | number;
  readonly keepRefusedHours: string | number;
  readonly signature: typeof commonSignature;
  readonly token: { readonly header: string; readonly prefix: string; readonly encoding: 'text' | 'base64' };
};

const MEBIBYTE = 1_048_576;
const PLACES: readonly (readonly [Places, string, string])[] = [
  ['type', texts.typeOfEveryRecord, texts.typeOfEveryRecordHint],
  ['typeFrom', texts.locationOfTheType, texts.locationOfTheTypeHint],
  ['deliveryIdFrom', texts.locationOfTheDeliveryId, texts.locationOfTheDeliveryIdEmpty],
  ['idFrom', texts.locationOfTheRecordId, texts.locationOfTheRecordIdHint],
  ['ownerFrom', texts.locationOfTheOwner, texts.locationOfTheOwnerHint],
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
  limits: source.limits ?? { ratePerSecond: 100, burst: 200 },
  toleranceSeconds: source.toleranceSeconds,
  maxBytes: source.maxBytes / MEBIBYTE,
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
    limits: draft.hasLimits
      ? { ratePerSecond: Number(draft.limits.ratePerSecond), burst: Number(draft.limits.burst) }
      : null,
    maxBytes: Math.round(Number(draft.maxBytes) * MEBIBYTE),
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

/** A rule of a number. */
const within =
  (min: number, max: number) =>
  (value: string | number): string | null =>
    value !== '' && Number(value) >= min && Number(value) <= max ? null : texts.rangeFault(min, max);

const useEditForm = (source: Source) =>
  useForm<Draft>({
    initialValues: draftOf(source),
    validate: {
      name: filled,
      toleranceSeconds: within(1, 86_400),
      maxBytes: within(1, 25),
      keepRefusedHours: within(0, 72),
      token: { header: (header) => (source.scheme === 'token' ? filled(header) : null) },
    },
  });

/** Changes everything of a source that may change, but its secrets and whether it is paused. */
export function SourceEdit({ source, onDone, onClose }: EditProps): ReactNode {
  const { networkId, sourceId } = source;
  const saving = api.useMutation('patch', '/admin/ingest-gateway/admin/v1/networks/{networkId}/sources/{sourceId}', {
    onSuccess: onDone,
  });
  const form = useEditForm(source);
  const change = changeOf(form.values, source);
  return (
    <FormDialog
      title={texts.editNamed(quoted(source.name))}
      action={texts.save}
      size="xl"
      form={form}
      doing={saving}
      isReady={Object.keys(change).length > 0}
      onSubmit={() => saving.mutate({ params: { path: { networkId, sourceId } }, body: change })}
      onClose={onClose}
    >
      <TextInput label={texts.name} required maxLength={200} {...form.getInputProps('name')} />
      <Bounds networkId={networkId} form={form} />
      <Types form={form} />
      {PLACES.map(
        ([name, label, description]) =>
          (name !== 'typeFrom' || form.values.type.trim() === '') && (
            <TextInput key={name} label={label} description={description} {...form.getInputProps(name)} />
          ),
      )}
      {source.scheme === 'hmac' && (
        <HmacFields value={form.values.signature} propsOf={(name) => form.getInputProps(`signature.${name}`)} />
      )}
      {source.scheme === 'token' && <TokenFields form={form} />}
    </FormDialog>
  );
}

interface PartProps {
  readonly form: UseFormReturnType<Draft>;
}

const Types = ({ form }: PartProps): ReactNode => (
  <>
    <Switch label={texts.itMayDeliverEveryType} {...form.getInputProps('allTypes', { type: 'checkbox' })} />
    {!form.values.allTypes && (
      <TagsInput
        label={texts.typesThatItMayDeliver}
        description={texts.typesThatItMayDeliverHint}
        {...form.getInputProps('allowedTypes')}
      />
    )}
  </>
);

function Bounds({ networkId, form }: PartProps & { readonly networkId: string }): ReactNode {
  const { channels, hasLimits } = form.values;
  const network = api.useQuery('get', '/admin/ingest-gateway/admin/v1/networks/{networkId}', {
    params: { path: { networkId } },
  });
  const known = [...new Set([...(network.data?.channels ?? []), ...channels])];
  return (
    <>
      <ClosingMultiSelect
        label={texts.channels}
        description={texts.channelsHint}
        data={known}
        {...form.getInputProps('channels')}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="sm">
        <NumberInput
          label={texts.clockToleranceS}
          min={1}
          max={86_400}
          required
          {...form.getInputProps('toleranceSeconds')}
        />
        <NumberInput label={texts.largestBodyMiB} min={1} max={25} required {...form.getInputProps('maxBytes')} />
        <NumberInput
          label={texts.keepRefusedHours}
          min={0}
          max={72}
          required
          {...form.getInputProps('keepRefusedHours')}
        />
      </SimpleGrid>
      <Switch label={texts.itHasItsOwnLimit} {...form.getInputProps('hasLimits', { type: 'checkbox' })} />
      {hasLimits && (
        <Group grow>
          <NumberInput
            label={texts.recordsPerSecond}
            min={1}
            required
            {...form.getInputProps('limits.ratePerSecond')}
          />
          <NumberInput label={texts.atOnce} min={1} required {...form.getInputProps('limits.burst')} />
        </Group>
      )}
    </>
  );
}

const TokenFields = ({ form }: PartProps): ReactNode => (
  <Group grow align="flex-end">
    <TextInput label={texts.headerOfTheToken} required {...form.getInputProps('token.header')} />
    <TextInput label={texts.textBeforeTheToken} {...form.getInputProps('token.prefix')} />
    <Select
      label={texts.theTokenIsSentAs}
      data={[
        { value: 'text', label: texts.text },
        { value: 'base64', label: texts.userPasswordInBase64 },
      ]}
      allowDeselect={false}
      {...form.getInputProps('token.encoding')}
    />
  </Group>
);

import type { ReactNode } from 'react';
import { Checkbox, Radio, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import type { Schemas } from '@sealgate/client';
import { api } from '../../shell/api.ts';
import { quoted } from '../../shell/quoted.ts';
import { localTime } from '../../shell/local-time.ts';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import type { MintProps } from '../keys-panel.tsx';
import {
  overlapSecondsOf,
  RotationFields,
  rotationRules,
  rotationTerms,
  type RotationTerms,
} from '../rotation-terms.tsx';

export type Key = Schemas['ingestGatewayAdmin']['Key'];

export type MintedKey = Schemas['ingestGatewayAdmin']['MintedKey'];
type MintRequest = Schemas['ingestGatewayAdmin']['MintKeyRequest'];
type Permission = Schemas['ingestGatewayAdmin']['Permission'];

const permissionWords: readonly (readonly [Permission, string])[] = [
  ['ingest:write', 'Write records'],
  ['ingest:ping', 'Ping (ask whether the key works)'],
];

interface Draft {
  readonly label: string;
  readonly permissions: Permission[];
  readonly allTypes: boolean;
  readonly allowedAssetTypes: string[];
  readonly record: 'envelope' | 'whole';
  /** Value of `datetime-local`, in the reader's time zone; empty: never. */
  readonly expiresAt: string;
  readonly rotation: RotationTerms;
}

const draftFrom = (key: Key | undefined, isLeaked: boolean): Draft => ({
  label: key?.label ?? '',
  permissions: (key?.permissions as Permission[] | null | undefined) ?? ['ingest:write', 'ingest:ping'],
  allTypes: key?.allowedAssetTypes == null,
  allowedAssetTypes: key?.allowedAssetTypes ?? [],
  record: key?.record === 'whole' ? 'whole' : 'envelope',
  expiresAt: key?.expiresAt == null ? '' : localTime(key.expiresAt),
  rotation: rotationTerms(isLeaked),
});

function requestFrom(draft: Draft, replaces: Key | undefined): MintRequest {
  return {
    label: draft.label,
    // A key that may everything is replaced by one that may, too, what is added later.
    ...((replaces?.permissions !== null || draft.permissions.length < permissionWords.length) && {
      permissions: draft.permissions,
    }),
    record: draft.record,
    ...(!draft.allTypes && { allowedAssetTypes: draft.allowedAssetTypes }),
    ...(draft.expiresAt !== '' && { expiresAt: new Date(draft.expiresAt).toISOString() }),
    ...(replaces !== undefined && {
      replaces: replaces.id,
      overlapSeconds: overlapSecondsOf(draft.rotation),
      ...(replaces.limits !== null && { limits: replaces.limits }),
      ...(replaces.defaultType !== null && { defaultType: replaces.defaultType }),
    }),
  };
}

/** Mints a key, or the replacement of one, with an overlap in which both are valid. */
export function MintForm({
  networkId,
  replaced: replaces,
  isLeaked,
  onMinted,
  onClose,
}: MintProps<Key, MintedKey> & { readonly networkId: string }): ReactNode {
  const minting = api.useMutation('post', '/admin/ingest-gateway/admin/v1/networks/{networkId}/keys', {
    onSuccess: onMinted,
  });
  const form = useForm({
    initialValues: draftFrom(replaces, isLeaked),
    validate: { label: filled, rotation: rotationRules },
  });
  return (
    <FormDialog
      title={replaces === undefined ? `Mint a key of ${networkId}` : `Rotate ${quoted(replaces.label)}`}
      action={
        replaces === undefined
          ? 'Mint the key'
          : form.values.rotation.why === 'leaked'
            ? 'End it and mint another'
            : 'Rotate the key'
      }
      {...(replaces !== undefined && form.values.rotation.why === 'leaked' && { tone: 'danger' })}
      form={form}
      doing={minting}
      onSubmit={(draft) =>
        minting.mutate({
          params: { path: { networkId } },
          body: requestFrom(draft, replaces),
        })
      }
      onClose={onClose}
    >
      {replaces !== undefined && <RotationFields terms={form.values.rotation} propsOf={form.getInputProps} />}
      <TextInput
        label="Label"
        description="What the key is for, to tell keys apart."
        required
        maxLength={200}
        {...form.getInputProps('label')}
      />
      <MintRules form={form} />
      <TextInput
        type="datetime-local"
        label="Expires"
        description={
          replaces?.expiresAt == null
            ? 'In your time zone. Left empty, it is valid until it is revoked.'
            : 'In your time zone, as the key that it replaces. Left empty, it is valid until it is revoked.'
        }
        {...form.getInputProps('expiresAt')}
      />
    </FormDialog>
  );
}

/** The permissions of the key, its types, and which members of a body it keeps. */
function MintRules({ form }: { readonly form: UseFormReturnType<Draft> }): ReactNode {
  const { permissions, allTypes } = form.values;
  return (
    <>
      <Checkbox.Group label="It may" {...form.getInputProps('permissions')}>
        <Stack gap={6} mt={6}>
          {permissionWords.map(([value, label]) => (
            <Checkbox key={value} value={value} label={label} />
          ))}
        </Stack>
      </Checkbox.Group>
      {permissions.length === 0 && (
        <Text size="sm" c="var(--console-wait)">
          A key without a permission is refused everything.
        </Text>
      )}
      <Stack gap={6}>
        <Checkbox label="Records of every type" {...form.getInputProps('allTypes', { type: 'checkbox' })} />
        {!allTypes && (
          <TagsInput
            label="Types it may write"
            description="Press Enter after each."
            maxTags={200}
            {...form.getInputProps('allowedAssetTypes')}
          />
        )}
      </Stack>
      <Radio.Group label="Stored part of a body" {...form.getInputProps('record')}>
        <Stack gap={6} mt={6}>
          <Radio value="envelope" label="Envelope: id, type, owner and data are read from it" />
          <Radio value="whole" label="Whole: the unchanged body is the data" />
        </Stack>
      </Radio.Group>
    </>
  );
}

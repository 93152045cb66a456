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
  mintAction,
  overlapSecondsOf,
  RotationFields,
  rotationRules,
  rotationTerms,
  type RotationTerms,
} from '../rotation-terms.tsx';
import * as texts from './texts.ts';

export type Key = Schemas['ingestGatewayAdmin']['Key'];

export type MintedKey = Schemas['ingestGatewayAdmin']['MintedKey'];
type MintRequest = Schemas['ingestGatewayAdmin']['MintKeyRequest'];
type Permission = Schemas['ingestGatewayAdmin']['Permission'];

const permissionWords: readonly (readonly [Permission, string])[] = [
  ['ingest:write', texts.writeRecords],
  ['ingest:ping', texts.pingAskWhetherTheKeyWorks],
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
      title={replaces === undefined ? texts.mintAKeyOf(networkId) : texts.rotateNamed(quoted(replaces.label))}
      {...mintAction(replaces !== undefined, form.values.rotation, {
        create: texts.mintTheKey,
        rotate: texts.rotateTheKey,
        endAndCreate: texts.endItAndMintAnother,
      })}
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
        label={texts.label}
        description={texts.labelHint}
        required
        maxLength={200}
        {...form.getInputProps('label')}
      />
      <MintRules form={form} />
      <TextInput
        type="datetime-local"
        label={texts.expires}
        description={replaces?.expiresAt == null ? texts.expiresHint : texts.expiresHintAsReplaced}
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
      <Checkbox.Group label={texts.itMay} {...form.getInputProps('permissions')}>
        <Stack gap={6} mt={6}>
          {permissionWords.map(([value, label]) => (
            <Checkbox key={value} value={value} label={label} />
          ))}
        </Stack>
      </Checkbox.Group>
      {permissions.length === 0 && (
        <Text size="sm" c="var(--console-wait)">
          {texts.noPermissionHint}
        </Text>
      )}
      <Stack gap={6}>
        <Checkbox label={texts.recordsOfEveryType} {...form.getInputProps('allTypes', { type: 'checkbox' })} />
        {!allTypes && (
          <TagsInput
            label={texts.typesItMayWrite}
            description={texts.typesItMayWriteHint}
            maxTags={200}
            {...form.getInputProps('allowedAssetTypes')}
          />
        )}
      </Stack>
      <Radio.Group label={texts.storedPartOfABody} {...form.getInputProps('record')}>
        <Stack gap={6} mt={6}>
          <Radio value="envelope" label={texts.envelopeChoice} />
          <Radio value="whole" label={texts.wholeChoice} />
        </Stack>
      </Radio.Group>
    </>
  );
}

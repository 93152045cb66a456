import { useState, type ReactNode } from 'react';
import { Checkbox, Radio, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Schemas } from '@sealgate/client';
import { dataOf } from '../../shell/console-fetch.ts';
import { quoted } from '../../shell/quoted.ts';
import { localTime } from '../../shell/local-time.ts';
import { ingestAdmin } from '../../shell/surfaces.ts';
import { FormDialog } from '../form-dialog.tsx';
import type { MintProps } from '../keys-panel.tsx';
import { useRotationTerms } from '../rotation-terms.tsx';

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
  readonly types: string[];
  readonly record: 'envelope' | 'whole';
  /** Value of `datetime-local`, in the reader's time zone; empty: never. */
  readonly expires: string;
}

const draftFrom = (key: Key | undefined): Draft => ({
  label: key?.label ?? '',
  permissions: (key?.permissions as Permission[] | null | undefined) ?? ['ingest:write', 'ingest:ping'],
  allTypes: key?.allowedAssetTypes == null,
  types: key?.allowedAssetTypes ?? [],
  record: key?.record === 'whole' ? 'whole' : 'envelope',
  expires: key?.expiresAt == null ? '' : localTime(key.expiresAt),
});

function requestFrom(draft: Draft, replaces: Key | undefined, overlapSeconds: number): MintRequest {
  return {
    label: draft.label,
    // A key that may everything is replaced by one that may, too, what is added later.
    ...((replaces?.permissions !== null || draft.permissions.length < permissionWords.length) && {
      permissions: draft.permissions,
    }),
    record: draft.record,
    ...(!draft.allTypes && { allowedAssetTypes: draft.types }),
    ...(draft.expires !== '' && { expiresAt: new Date(draft.expires).toISOString() }),
    ...(replaces !== undefined && {
      replaces: replaces.id,
      overlapSeconds,
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
  const rotation = useRotationTerms(isLeaked);
  const [draft, setDraft] = useState(() => draftFrom(replaces));
  const set = (changes: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changes }));
  const minting = useMutation({
    mutationFn: () =>
      dataOf(
        ingestAdmin.POST('/admin/v1/networks/{networkId}/keys', {
          params: { path: { networkId } },
          body: requestFrom(draft, replaces, rotation.overlapSeconds),
        }),
      ),
    onSuccess: onMinted,
  });
  return (
    <FormDialog
      title={replaces === undefined ? `Mint a key of ${networkId}` : `Rotate ${quoted(replaces.label)}`}
      action={
        replaces === undefined ? 'Mint the key' : rotation.isLeaked ? 'End it and mint another' : 'Rotate the key'
      }
      {...(replaces !== undefined && rotation.isLeaked && { tone: 'danger' })}
      doing={minting}
      onSubmit={() => minting.mutate()}
      onClose={onClose}
    >
      {replaces !== undefined && rotation.fields}
      <TextInput
        label="Label"
        description="What the key is for, to tell keys apart."
        required
        maxLength={200}
        value={draft.label}
        onChange={(event) => set({ label: event.currentTarget.value })}
      />
      <MintRules draft={draft} set={set} />
      <TextInput
        type="datetime-local"
        label="Expires"
        description={
          replaces?.expiresAt == null
            ? 'In your time zone. Left empty, it is valid until it is revoked.'
            : 'In your time zone, as the key that it replaces. Left empty, it is valid until it is revoked.'
        }
        value={draft.expires}
        onChange={(event) => set({ expires: event.currentTarget.value })}
      />
    </FormDialog>
  );
}

/** The permissions of the key, its types, and which members of a body it keeps. */
function MintRules({ draft, set }: { draft: Draft; set: (changes: Partial<Draft>) => void }): ReactNode {
  return (
    <>
      <Checkbox.Group
        label="It may"
        value={draft.permissions}
        onChange={(permissions) => set({ permissions: permissions })}
      >
        <Stack gap={6} mt={6}>
          {permissionWords.map(([value, label]) => (
            <Checkbox key={value} value={value} label={label} />
          ))}
        </Stack>
      </Checkbox.Group>
      {draft.permissions.length === 0 && (
        <Text size="sm" c="var(--console-wait)">
          A key without a permission is refused everything.
        </Text>
      )}
      <Stack gap={6}>
        <Checkbox
          label="Records of every type"
          checked={draft.allTypes}
          onChange={(event) => set({ allTypes: event.currentTarget.checked })}
        />
        {!draft.allTypes && (
          <TagsInput
            label="Types it may write"
            description="Press Enter after each."
            value={draft.types}
            maxTags={200}
            onChange={(types) => set({ types })}
          />
        )}
      </Stack>
      <Radio.Group label="Stored part of a body" value={draft.record} onChange={(record) => set({ record: record })}>
        <Stack gap={6} mt={6}>
          <Radio value="envelope" label="Envelope: id, type, owner and data are read from it" />
          <Radio value="whole" label="Whole: the unchanged body is the data" />
        </Stack>
      </Radio.Group>
    </>
  );
}

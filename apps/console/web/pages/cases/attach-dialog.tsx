import { useState, type ReactNode } from 'react';
import { NumberInput, Select, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { FormDialog } from '../form-dialog.tsx';
import { FingerprintOfFile } from '../fingerprint-of-file.tsx';
import type { NewAttachment } from './case-api.ts';
import { useEnvironment } from './environment.tsx';

interface AttachProps {
  readonly path: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const NOTHING: NewAttachment = { kind: 'vault_ref', ref: '', sha256: '', media_type: '', size_bytes: 0 };

/** An empty label is omitted. */
const sent = ({ label = '', ...rest }: NewAttachment): NewAttachment => (label === '' ? rest : { ...rest, label });

/** Attaches one reference. A chosen file is hashed locally and not uploaded. */
export function AttachDialog({ path, onDone, onClose }: AttachProps): ReactNode {
  const { send } = useEnvironment();
  const [draft, setDraft] = useState(NOTHING);
  const attach = useMutation({ mutationFn: () => send(path, { attachments: [sent(draft)] }), onSuccess: onDone });
  const isReady = draft.ref !== '' && /^[0-9a-f]{64}$/.test(draft.sha256) && draft.media_type !== '';
  return (
    <FormDialog
      title="Attach a reference"
      action="Attach"
      doing={attach}
      onSubmit={() => attach.mutate()}
      isReady={isReady}
      onClose={onClose}
    >
      <Text size="sm">The bytes stay where they are: the case keeps a reference and their hash.</Text>
      <FingerprintOfFile
        onFound={(sha256, file) =>
          setDraft({ ...draft, sha256, size_bytes: file.size, media_type: file.type || draft.media_type })
        }
      />
      <AttachFields draft={draft} onChange={(change) => setDraft({ ...draft, ...change })} />
    </FormDialog>
  );
}

function AttachFields({
  draft,
  onChange,
}: {
  readonly draft: NewAttachment;
  readonly onChange: (change: Partial<NewAttachment>) => void;
}): ReactNode {
  return (
    <>
      <Select
        label="Kind"
        allowDeselect={false}
        value={draft.kind}
        data={[
          { value: 'vault_ref', label: 'Reference into a vault' },
          { value: 'upload_handle', label: 'Handle of an upload' },
        ]}
        onChange={(kind) => onChange({ kind: kind === 'upload_handle' ? 'upload_handle' : 'vault_ref' })}
      />
      <TextInput
        label="Reference"
        required
        maxLength={512}
        value={draft.ref}
        onChange={(event) => onChange({ ref: event.currentTarget.value })}
      />
      <TextInput
        label="SHA-256"
        required
        maxLength={64}
        value={draft.sha256}
        onChange={(event) => onChange({ sha256: event.currentTarget.value.trim().toLowerCase() })}
      />
      <TextInput
        label="Media type"
        required
        maxLength={255}
        placeholder="application/pdf"
        value={draft.media_type}
        onChange={(event) => onChange({ media_type: event.currentTarget.value })}
      />
      <NumberInput
        label="Size in bytes"
        required
        min={0}
        allowDecimal={false}
        value={draft.size_bytes}
        onChange={(size) => onChange({ size_bytes: Number(size) })}
      />
      <TextInput
        label="Label"
        maxLength={200}
        value={draft.label ?? ''}
        onChange={(event) => onChange({ label: event.currentTarget.value })}
      />
    </>
  );
}

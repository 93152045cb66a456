import type { ReactNode } from 'react';
import { NumberInput, Select, Text, TextInput } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { api } from '../../shell/api.ts';
import { FormDialog } from '../form-dialog.tsx';
import { filled } from '../form-faults.ts';
import { FingerprintOfFile } from '../fingerprint-of-file.tsx';
import type { NewAttachment } from './case-api.ts';
import * as texts from './case-texts.ts';
import { useEnvironment } from './environment.tsx';

interface AttachProps {
  readonly caseId: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

type Draft = Required<NewAttachment>;

const NOTHING: Draft = { kind: 'vault_ref', ref: '', sha256: '', media_type: '', size_bytes: 0, label: '' };

/** An empty label is omitted. */
const sent = ({ label, ...rest }: Draft): NewAttachment => (label === '' ? rest : { ...rest, label });

/** Attaches one reference. A chosen file is hashed locally and not uploaded. */
export function AttachDialog({ caseId, onDone, onClose }: AttachProps): ReactNode {
  const { name: environment } = useEnvironment();
  const attach = api.useMutation('post', '/admin/case-gate/admin/v1/cases/{case_id}/attachments', {
    onSuccess: onDone,
  });
  const form = useForm({
    initialValues: NOTHING,
    validate: {
      ref: filled,
      sha256: (digits) => (/^[0-9a-f]{64}$/.test(digits) ? null : texts.hashFault),
      media_type: filled,
      size_bytes: (size) => (typeof size === 'number' ? null : texts.fillThisIn),
    },
  });
  return (
    <FormDialog
      title={texts.attachAReference}
      action={texts.attach}
      form={form}
      part="/attachments/0"
      doing={attach}
      onSubmit={(draft) =>
        attach.mutate({
          params: { path: { case_id: caseId }, query: { environment } },
          body: { attachments: [sent(draft)] },
        })
      }
      onClose={onClose}
    >
      <Text size="sm">{texts.theBytesStayWhereTheyAre}</Text>
      <FingerprintOfFile
        onFound={(sha256, { size, type }) =>
          form.setValues({ sha256, size_bytes: size, ...(type !== '' && { media_type: type }) })
        }
      />
      <AttachFields form={form} />
    </FormDialog>
  );
}

const AttachFields = ({ form }: { readonly form: UseFormReturnType<Draft> }): ReactNode => (
  <>
    <Select
      label={texts.kind}
      allowDeselect={false}
      data={[
        { value: 'vault_ref', label: texts.referenceIntoAVault },
        { value: 'upload_handle', label: texts.handleOfAnUpload },
      ]}
      {...form.getInputProps('kind')}
    />
    <TextInput label={texts.reference} required maxLength={512} {...form.getInputProps('ref')} />
    <TextInput
      label={texts.sha256}
      required
      maxLength={64}
      {...form.getInputProps('sha256')}
      onChange={(event) => form.setFieldValue('sha256', event.currentTarget.value.trim().toLowerCase())}
    />
    <TextInput
      label={texts.mediaType}
      required
      maxLength={255}
      placeholder={texts.mediaTypeExample}
      {...form.getInputProps('media_type')}
    />
    <NumberInput
      label={texts.sizeInBytes}
      required
      min={0}
      allowDecimal={false}
      {...form.getInputProps('size_bytes')}
    />
    <TextInput label={texts.label} maxLength={200} {...form.getInputProps('label')} />
  </>
);

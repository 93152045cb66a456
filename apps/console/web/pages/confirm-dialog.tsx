import type { ReactNode } from 'react';
import { TextInput, Textarea } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { isolated } from '../shell/quoted.ts';
import { FormDialog } from './form-dialog.tsx';
import { filled } from './form-faults.ts';
import * as texts from './texts.ts';

interface ConfirmProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action: string;
  readonly tone?: 'danger';
  /** Asks for a reason with this maximum length. */
  readonly reasonMax?: number;
  /** Text to type before the action is enabled. */
  readonly typed?: string;
  /** See FormDialog. */
  readonly explain?: Readonly<Record<string, string>>;
  readonly run: (reason: string) => Promise<unknown>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks for confirmation; an error is shown in the dialog, and the input stays. */
export function ConfirmDialog({
  title,
  children,
  action,
  tone,
  reasonMax,
  typed,
  explain,
  run,
  onDone,
  onClose,
}: ConfirmProps): ReactNode {
  const form = useForm({
    initialValues: { reason: '', typed: '' },
    validate: { reason: (reason) => (reasonMax === undefined ? null : filled(reason)) },
  });
  const doing = useMutation({ mutationFn: run, onSuccess: onDone });
  return (
    <FormDialog
      title={title}
      action={action}
      form={form}
      doing={doing}
      explain={explain}
      onSubmit={({ reason }) => doing.mutate(reason.trim())}
      isReady={typed === undefined || form.values.typed.trim() === typed}
      {...(tone === 'danger' && { tone: 'danger' })}
      onClose={onClose}
    >
      {children}
      {reasonMax !== undefined && (
        <Textarea
          label={texts.reason}
          required
          autosize
          minRows={2}
          maxLength={reasonMax}
          {...form.getInputProps('reason')}
          onChange={(event) => form.setFieldValue('reason', event.currentTarget.value.replaceAll(/[\n\r\t]/g, ' '))}
        />
      )}
      {typed !== undefined && (
        <TextInput label={texts.typeToConfirm(isolated(typed))} autoComplete="off" {...form.getInputProps('typed')} />
      )}
    </FormDialog>
  );
}

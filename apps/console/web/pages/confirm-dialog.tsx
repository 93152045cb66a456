import { useState, type ReactNode } from 'react';
import { TextInput, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { isolated } from '../shell/quoted.ts';
import { FormDialog } from './form-dialog.tsx';

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
  const [reason, setReason] = useState('');
  const [word, setWord] = useState('');
  const doing = useMutation({ mutationFn: () => run(reason.trim()), onSuccess: onDone });
  const isReady = (reasonMax === undefined || reason.trim() !== '') && (typed === undefined || word.trim() === typed);
  return (
    <FormDialog
      title={title}
      action={action}
      doing={doing}
      explain={explain}
      onSubmit={() => doing.mutate()}
      isReady={isReady}
      {...(tone === 'danger' && { tone: 'danger' })}
      onClose={onClose}
    >
      {children}
      {reasonMax !== undefined && (
        <Textarea
          label="Reason"
          required
          autosize
          minRows={2}
          maxLength={reasonMax}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value.replaceAll(/[\n\r\t]/g, ' '))}
        />
      )}
      {typed !== undefined && (
        <TextInput
          label={`Type ${isolated(typed)} to confirm`}
          value={word}
          autoComplete="off"
          onChange={(event) => setWord(event.currentTarget.value)}
        />
      )}
    </FormDialog>
  );
}

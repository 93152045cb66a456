import type { ReactNode } from 'react';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { useMediaQuery } from '@mantine/hooks';
import { LOSES_INPUT } from '../shell/ask-before-leaving.ts';
import { useFocusBack } from '../shell/focus-back.ts';
import { ProblemView } from '../shell/problem-view.tsx';
import { asProblem } from '../shell/problem.ts';
import { useFormFaults } from './form-faults.ts';
import * as texts from './texts.ts';

interface FormDialogProps<Values> {
  /** Its fields, whose rules are checked before it is submitted. Absent: it has none. */
  readonly form?: UseFormReturnType<Values>;
  /** Pointer to the part of the body that the fields are. Absent: they are the whole. */
  readonly part?: string | undefined;
  readonly title: string;
  /** A large form has the whole of a small screen. */
  readonly size?: 'xl';
  /** Label of the submit button. */
  readonly action: string;
  /** Label of the other button. */
  readonly closing?: string;
  readonly tone?: 'danger';
  /** False: there is nothing to submit yet. */
  readonly isReady?: boolean;
  /** The state of the submission: an error is shown, and the input stays. */
  readonly doing: { readonly isPending: boolean; readonly error: unknown };
  /** What to do about an error, by its code. */
  readonly explain?: Readonly<Record<string, string>> | undefined;
  readonly onSubmit: (values: Values) => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** The frame of all form dialogs. */
export function FormDialog<Values extends object>({
  form,
  part,
  title,
  size,
  action,
  closing = texts.cancel,
  tone,
  isReady = true,
  doing,
  explain = {},
  onSubmit,
  onClose,
  children,
}: FormDialogProps<Values>): ReactNode {
  useFocusBack();
  const none = useForm({ initialValues: {} });
  // Without fields, `onSubmit` takes nothing.
  const fields = form ?? (none as unknown as UseFormReturnType<Values>);
  const submitting = useFormFaults(fields, doing.error, part);
  const isSmall = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
  return (
    <Modal
      opened
      onClose={() => {
        if (!fields.isDirty() || globalThis.confirm(LOSES_INPUT)) onClose();
      }}
      title={title}
      {...(size !== undefined && { size, fullScreen: isSmall })}
      closeButtonProps={{ 'aria-label': texts.close }}
    >
      <form noValidate onSubmit={submitting((values) => (isReady ? onSubmit(values) : undefined))}>
        <Stack gap="sm">
          {children}
          {doing.error !== null && <Failure error={doing.error} explain={explain} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {closing}
            </Button>
            <Button
              type="submit"
              disabled={!isReady}
              loading={doing.isPending}
              {...(tone === 'danger' && { color: 'red.9' })}
            >
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Failure({
  error,
  explain,
}: {
  readonly error: unknown;
  readonly explain: Readonly<Record<string, string>>;
}): ReactNode {
  const words = explain[asProblem(error).problem.code];
  return <ProblemView error={error}>{words !== undefined && <Text size="sm">{words}</Text>}</ProblemView>;
}

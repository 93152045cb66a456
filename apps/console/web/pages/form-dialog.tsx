import { useLayoutEffect, useState, type ReactNode } from 'react';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { ProblemView } from '../shell/problem-view.tsx';
import { asProblem } from '../shell/problem.ts';

interface FormDialogProps {
  readonly title: string;
  /** A large form has the whole of a small screen. */
  readonly size?: 'xl';
  /** Label of the submit button. */
  readonly action: string;
  /** Label of the other button. */
  readonly closing?: string;
  readonly tone?: 'danger';
  /** Whether the form can be submitted; default: the fields validate themselves. */
  readonly isReady?: boolean;
  /** The state of the submission: an error is shown, and the input stays. */
  readonly doing: { readonly isPending: boolean; readonly error: unknown };
  /** What to do about an error, by its code. */
  readonly explain?: Readonly<Record<string, string>> | undefined;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** What had the focus before gets it back. Mantine does that for dialogs that close, and ours are taken away. */
function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useLayoutEffect(
    () => () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    },
    [before],
  );
}

/** The frame of all form dialogs. */
export function FormDialog({
  title,
  size,
  action,
  closing = 'Cancel',
  tone,
  isReady = true,
  doing,
  explain = {},
  onSubmit,
  onClose,
  children,
}: FormDialogProps): ReactNode {
  useFocusBack();
  const isSmall = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false });
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      {...(size !== undefined && { size, fullScreen: isSmall })}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) onSubmit();
        }}
      >
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

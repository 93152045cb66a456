import type { ReactNode } from 'react';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useAskBeforeLeaving } from '../shell/ask-before-leaving.ts';
import { useFocusBack } from '../shell/focus-back.ts';
import * as texts from './texts.ts';

interface ShownOnceProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Shows what nobody can show again. Only its button closes it, and the browser asks before the page is left. */
export function ShownOnce({ title, onClose, children }: ShownOnceProps): ReactNode {
  useFocusBack();
  useAskBeforeLeaving(true, texts.leaveWhatIsShownHere);
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack gap="sm">
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>{texts.iHaveCopiedIt}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

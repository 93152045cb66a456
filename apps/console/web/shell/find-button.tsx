import { lazy, Suspense, useEffect, useId, useState, type ReactNode } from 'react';
import { ActionIcon, Button, Kbd } from '@mantine/core';
import { Icon } from './icons.tsx';
import type { Mine } from './mine.ts';
import * as texts from './texts.ts';

const FindDialog = lazy(async () => ({ default: (await import('../pages/find/find-dialog.tsx')).FindDialog }));

const TYPED_IN = 'input, textarea, select, [contenteditable="true"], [role="dialog"]';

/** Ctrl+K or Cmd+K anywhere; `/` where nothing is typed in. */
function isShortcut(event: KeyboardEvent): boolean {
  const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event;
  if ((ctrlKey || metaKey) && !altKey && !shiftKey) return key.toLowerCase() === 'k';
  return key === '/' && !ctrlKey && !metaKey && !altKey && !(target instanceof Element && target.closest(TYPED_IN));
}

/**
 * The text of the search. Until its field has the focus (it may still be loading), what is typed is added here; keys
 * pressed inside its dialog are left alone.
 */
function useTyped(isOpen: boolean, inputId: string) {
  const [text, setText] = useState('');
  useEffect(() => {
    if (!isOpen) return undefined;
    const onKeyDown = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, isComposing } = event;
      const isForText = (key.length === 1 || key === 'Backspace') && !ctrlKey && !metaKey && !altKey && !isComposing;
      const dialog = document.getElementById(inputId)?.closest('[role="dialog"]');
      if (!isForText || dialog?.contains(document.activeElement)) return;
      event.preventDefault();
      setText((typed) => (key === 'Backspace' ? typed.slice(0, -1) : typed + key));
    };
    document.addEventListener('keydown', onKeyDown, true);
    return () => document.removeEventListener('keydown', onKeyDown, true);
  }, [isOpen, inputId]);
  return { text, setText };
}

/** The search over everything, which is loaded when it is opened first. */
export function FindButton({ mine }: { readonly mine: Mine }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const [wasOpen, setWasOpen] = useState(false);
  if (isOpen && !wasOpen) setWasOpen(true);
  const inputId = useId();
  const { text, setText } = useTyped(isOpen, inputId);
  const close = (): void => {
    setOpen(false);
    setText('');
  };
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (!isShortcut(event)) return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <>
      <Button
        visibleFrom="sm"
        variant="default"
        size="sm"
        leftSection={<Icon name="search" size={16} />}
        rightSection={
          <Kbd size="xs" aria-hidden="true">
            {texts.ctrlK}
          </Kbd>
        }
        onClick={() => setOpen(true)}
      >
        {texts.search}
      </Button>
      <ActionIcon
        hiddenFrom="sm"
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={texts.search}
        onClick={() => setOpen(true)}
      >
        <Icon name="search" />
      </ActionIcon>
      {wasOpen && (
        <Suspense fallback={null}>
          <FindDialog mine={mine} opened={isOpen} inputId={inputId} text={text} onText={setText} onClose={close} />
        </Suspense>
      )}
    </>
  );
}

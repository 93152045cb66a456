import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { ActionIcon, Button, Kbd } from '@mantine/core';
import { Icon } from './icons.tsx';
import type { Mine } from './mine.ts';

const FindDialog = lazy(async () => ({ default: (await import('../pages/find/find-dialog.tsx')).FindDialog }));

const TYPED_IN = 'input, textarea, select, [contenteditable="true"], [role="dialog"]';

/** Ctrl+K or Cmd+K anywhere; `/` where nothing is typed in. */
function isShortcut(event: KeyboardEvent): boolean {
  const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event;
  if ((ctrlKey || metaKey) && !altKey && !shiftKey) return key.toLowerCase() === 'k';
  return key === '/' && !ctrlKey && !metaKey && !altKey && !(target instanceof Element && target.closest(TYPED_IN));
}

/** The search over everything, which is loaded when it is opened first. */
export function FindButton({ mine }: { readonly mine: Mine }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const [wasOpen, setWasOpen] = useState(false);
  if (isOpen && !wasOpen) setWasOpen(true);
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
            Ctrl K
          </Kbd>
        }
        onClick={() => setOpen(true)}
      >
        Search
      </Button>
      <ActionIcon
        hiddenFrom="sm"
        variant="subtle"
        color="gray"
        size="lg"
        aria-label="Search"
        onClick={() => setOpen(true)}
      >
        <Icon name="search" />
      </ActionIcon>
      {wasOpen && (
        <Suspense fallback={null}>
          <FindDialog mine={mine} opened={isOpen} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

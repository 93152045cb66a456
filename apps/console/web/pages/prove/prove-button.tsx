import { lazy, Suspense, useState, type ReactNode } from 'react';
import { Button } from '@mantine/core';
import type { Provable } from './provable.ts';
import * as texts from './texts.ts';

const ProveDrawer = lazy(async () => ({ default: (await import('./prove-drawer.tsx')).ProveDrawer }));

interface ProveButtonProps {
  readonly of: Provable;
  /** What it proves, for a button among others of its kind. */
  readonly what?: string;
}

/** Opens the proof of something that the reader may read. */
export function ProveButton({ of, what }: ProveButtonProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        variant="default"
        size={what === undefined ? 'sm' : 'compact-xs'}
        {...(what !== undefined && { 'aria-label': texts.proveNamed(what) })}
        onClick={() => setOpen(true)}
      >
        {texts.proveThis}
      </Button>
      {isOpen && (
        <Suspense>
          <ProveDrawer of={of} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

import { useEffect, useRef, useState } from 'react';
import type { Checked } from './check-files.ts';
import * as texts from './file-texts.ts';
import { proofIn } from './outsider-link.ts';
import type { NamedFile } from './sort-file.ts';

/** The proof that the address carries in its fragment, opened at once and whenever the fragment changes. */
export function useLinkedProof(
  onFound: (files: readonly NamedFile[], refused: readonly Checked[]) => void,
): readonly NamedFile[] {
  const [linked, setLinked] = useState<readonly NamedFile[]>([]);
  const found = useRef(onFound);
  useEffect(() => {
    found.current = onFound;
  });
  useEffect(() => {
    const read = async (): Promise<void> => {
      try {
        const bytes = await proofIn(location.hash);
        const files = bytes === undefined ? [] : [{ name: texts.name, bytes }];
        setLinked(files);
        if (files.length > 0) found.current(files, []);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        found.current([], [{ kind: 'unreadable', name: texts.name, why: error.message }]);
      }
    };
    const open = (): void => void read();
    open();
    addEventListener('hashchange', open);
    return () => removeEventListener('hashchange', open);
  }, []);
  return linked;
}

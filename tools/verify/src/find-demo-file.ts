import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { UnreadableError } from './unreadable-error.ts';

export interface DemoFile {
  readonly kind: 'dev.json' | 'log.vkey';
  readonly path: string;
}

/** What `npm start` keeps for scripts and tools while it runs, and the key that stays when it has ended. */
const KINDS = ['dev.json', 'log.vkey'] as const;

/**
 * Looks for `.sealgate/dev.json`, else `.sealgate/log.vkey`, in the directory and those above it. One that somebody else
 * can write decides what is believed, so it has to be named: throws UnreadableError for such a file.
 */
export function findDemoFile(directory: string, uid: number | undefined): DemoFile | undefined {
  let folder = resolve(directory);
  for (;;) {
    for (const kind of KINDS) {
      const path = join(folder, '.sealgate', kind);
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) continue;
      const isOurs = uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0);
      if (isOurs) return { kind, path };
      const option = kind === 'dev.json' ? '--dev-json' : '--key';
      throw new UnreadableError(`${path} can be written by another user. If you trust it, name it with ${option}.`);
    }
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
}

import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';
import { readJsonFile, writeJsonFile } from '../start/json-file.ts';
import { messageOf } from '../start/user-error.ts';

interface Kept {
  readonly payload: AdapterPayload;
  /** Milliseconds since the epoch; null: never. */
  readonly expiresAtMs: number | null;
}

/** Above this the oldest entries are dropped. */
const MAX_ENTRIES = 2_000;

/** The provider's store: sessions, grants, refresh tokens, registered clients. Everything expires except clients. */
export function providerStore({
  file,
  now,
  tell,
}: {
  /** The file that keeps refresh tokens and registered clients across a restart. */
  readonly file: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called if the file cannot be written; the data in memory stays valid. */
  readonly tell: (line: string) => void;
}): AdapterFactory {
  const entries = new Map<string, Kept>(readKept(file));
  let writing: NodeJS.Immediate | undefined;
  const save = (): void => {
    writing ??= setImmediate(() => {
      writing = undefined;
      try {
        writeJsonFile(file, { entries: [...entries] });
      } catch (error) {
        tell(`The development provider cannot store sign-ins across a restart: ${messageOf(error)}`);
      }
    });
  };
  const live = (key: string): AdapterPayload | undefined => {
    const kept = entries.get(key);
    return kept === undefined || (kept.expiresAtMs !== null && kept.expiresAtMs <= now()) ? undefined : kept.payload;
  };
  const forget = (isForgotten: (kept: Kept) => boolean): void => {
    for (const [key, kept] of entries) if (isForgotten(kept)) entries.delete(key);
  };
  const makeRoom = (): void => {
    if (entries.size <= MAX_ENTRIES) return;
    forget(({ expiresAtMs }) => expiresAtMs !== null && expiresAtMs <= now());
    for (const key of entries.keys()) if (entries.size > MAX_ENTRIES) entries.delete(key);
  };
  return (model): Adapter => {
    const keyOf = (id: string): string => `${model}:${id}`;
    const findBy = (member: 'uid' | 'userCode', value: string): AdapterPayload | undefined => {
      const [key] =
        [...entries].find(([name, { payload }]) => name.startsWith(keyOf('')) && payload[member] === value) ?? [];
      return key === undefined ? undefined : live(key);
    };
    return {
      async upsert(id, payload, expiresInSeconds) {
        entries.delete(keyOf(id)); // Re-inserted last, as the newest.
        const expiresAtMs = expiresInSeconds === undefined ? null : now() + expiresInSeconds * 1000;
        entries.set(keyOf(id), { payload, expiresAtMs });
        makeRoom();
        save();
      },
      async find(id) {
        return live(keyOf(id));
      },
      async findByUid(uid) {
        return findBy('uid', uid);
      },
      async findByUserCode(userCode) {
        return findBy('userCode', userCode);
      },
      async consume(id) {
        const kept = entries.get(keyOf(id));
        if (kept === undefined) return;
        entries.set(keyOf(id), { ...kept, payload: { ...kept.payload, consumed: Math.floor(now() / 1000) } });
        save();
      },
      async destroy(id) {
        entries.delete(keyOf(id));
        save();
      },
      async revokeByGrantId(grantId) {
        forget(({ payload }) => payload.grantId === grantId);
        save();
      },
    };
  };
}

/** A file of another format is ignored: people only need to sign in again. */
function readKept(file: string): [string, Kept][] {
  const entries = readJsonFile(file)?.['entries'];
  return Array.isArray(entries) ? (entries as [string, Kept][]) : [];
}

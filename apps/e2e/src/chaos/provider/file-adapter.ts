import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

/** The store of the provider: in memory, and each change a line of a file before it is answered. */
export function fileAdapter(file: string): AdapterFactory {
  const entries = new Map<string, AdapterPayload>();
  const apply = ([key, payload]: readonly [string, AdapterPayload | null]): void => {
    if (payload === null) entries.delete(key);
    else entries.set(key, payload);
  };
  for (const line of linesOf(file)) apply(JSON.parse(line) as [string, AdapterPayload | null]);
  const change = (key: string, payload: AdapterPayload | null): void => {
    appendFileSync(file, `${JSON.stringify([key, payload])}\n`);
    apply([key, payload]);
  };
  return (model): Adapter => {
    const keyOf = (id: string): string => `${model}:${id}`;
    return {
      upsert: async (id, payload) => change(keyOf(id), payload),
      find: async (id) => entries.get(keyOf(id)),
      findByUid: async (uid) =>
        [...entries].find(([key, payload]) => key.startsWith(keyOf('')) && payload.uid === uid)?.[1],
      findByUserCode: async () => undefined,
      async consume(id) {
        const known = entries.get(keyOf(id));
        if (known !== undefined) change(keyOf(id), { ...known, consumed: Math.floor(Date.now() / 1000) });
      },
      destroy: async (id) => change(keyOf(id), null),
      async revokeByGrantId(grantId) {
        for (const [key, payload] of entries) if (payload.grantId === grantId) change(key, null);
      },
    };
  };
}

/** A kill may cut the last line short. */
const linesOf = (file: string): string[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.endsWith(']'))
    : [];

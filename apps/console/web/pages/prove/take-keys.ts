import type { Session } from '../../shell/session.ts';
import { server } from '../../shell/api.ts';
import { ledgerOf, type LedgerSurface } from '../ledger/ledger-source.ts';
import { verifierKeysOf } from '../verify/published-keys.ts';

type KeySet = Parameters<typeof verifierKeysOf>[0];
type Surfaces = Pick<Session, 'surfaces'> | undefined;
type Publisher = 'ledger-peer' | 'case-gate' | 'risk-partner';

/** The public keys of a surface, through the console; also without a session. */
export const keySetPath = (surface: Publisher) => `/api/${surface}/.well-known/jwks.json` as const;

export const publishes = (session: Surfaces, surface: Publisher): boolean =>
  session?.surfaces.some(({ id, api }) => id === surface && api) ?? false;

/** The keys that the ledger routes of an admin listener name. Throws ProblemError. */
export async function adminLogKeys(surface: LedgerSurface, signal?: AbortSignal): Promise<string> {
  const { data } = await server.GET(`${ledgerOf(surface)}/keys`, signal && { signal });
  return data!.keys.map(({ verifierKey }) => verifierKey).join('\n');
}

/** The keys that the ledger peer publishes, for checkpoints of these notes. Throws ProblemError. */
export async function publicLogKeys(notes: readonly string[], signal?: AbortSignal): Promise<string> {
  return verifierKeysOf(await keySet('ledger-peer', signal), notes);
}

/** The key set of packs or envelopes, as text. Throws ProblemError. */
export const keySetText = async (surface: Publisher, signal?: AbortSignal): Promise<string> =>
  JSON.stringify(await keySet(surface, signal));

const keySet = async (surface: Publisher, signal?: AbortSignal): Promise<KeySet> =>
  // As the services describe them.
  (await server.GET(keySetPath(surface), signal && { signal })).data as unknown as KeySet;

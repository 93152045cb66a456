import { BoundedMap, type LastUsedWriter } from '@sealgate/api-keys';
import { bearerToken, keyHashOf } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { AuthRequest, Guard } from '@sealgate/http';
import {
  admissionOf,
  fullState,
  rateLimitHeaders,
  type AddressLimiter,
  type LimitStore,
  type Policy,
} from '@sealgate/rate-limits';
import type { CallerLookups, FoundCaller } from './data/caller-lookups.ts';
import type { GateCaller } from './domain/key.ts';
import type { EntryIds } from './domain/check-entry.ts';
import type { LookUpEntries } from './routes/gate.ts';

export interface Limits {
  readonly ratePerSecond: number;
  readonly burst: number;
}

export interface GateGuardPorts {
  /** On a connection pool of its own, so that no other work delays a check. */
  readonly gateLookups: CallerLookups;
  readonly apiLookups: CallerLookups;
  /** Of keys that were not seen yet, however many strangers make up: they wait for each other, and nobody else does. */
  readonly strangerLookups: CallerLookups;
  readonly lastUsed: Pick<LastUsedWriter, 'touch'>;
  readonly limits: LimitStore;
  readonly addresses: AddressLimiter;
  readonly policies: { readonly api: Limits; readonly gate: Limits };
  /** The budget of a check, from the last byte of the body. */
  readonly gateDeadlineMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** How the routes of the public listener know their callers. */
interface GateAccess {
  readonly guard: Guard<GateCaller>;
  /** The gate's look-up. Like `authenticate` of the guard, and in the same round trip it reads what a check needs. */
  readonly lookUpEntries: LookUpEntries;
}

interface KeyQuestion {
  /** Used for a key that was live when it was last looked up. */
  readonly lookups: CallerLookups;
  readonly entries: readonly EntryIds[];
  readonly withinMs: number;
}

const API_WITHIN_MS = 1000;
/** Hashes of keys that were live when they were last looked up. They decide nothing about access. */
const MAX_REMEMBERED = 10_000;

/** Bearer authentication with gk_ keys, and two rate limits for each key: one for the API, one for the gate. */
export function gateAccess(ports: GateGuardPorts): GateAccess {
  const { limits, policies, addresses, gateLookups, apiLookups, strangerLookups, lastUsed, gateDeadlineMs, now } =
    ports;
  const policyOf = ({ bucket }: GateCaller): Policy => ({ name: 'key', ...policies[bucket] });
  const seen = new BoundedMap<string, true>(MAX_REMEMBERED);
  let last: PresentedKey | undefined;

  /** Hashes the key of a request once: a check asks `isExpected`, then looks up. */
  function presentedBy(request: AuthRequest): PresentedKey {
    if (last?.request !== request) last = presentedKey(request);
    return last;
  }

  async function lookUp(request: AuthRequest, { lookups, entries, withinMs }: KeyQuestion): Promise<FoundCaller> {
    const { keyHash, name } = presentedBy(request);
    if (keyHash === undefined) throw unauthenticated();
    const isSeen = seen.has(name);
    const found = await (isSeen ? lookups : strangerLookups).find(keyHash, entries, withinMs);
    if (found === undefined) {
      if (isSeen) seen.delete(name);
      throw unauthenticated();
    }
    if (!isSeen) seen.set(name, true);
    lastUsed.touch(found.keyId);
    return found;
  }

  const guard: Guard<GateCaller> = {
    challenge: 'Bearer',
    isExpected: (request) => seen.has(presentedBy(request).name),
    async authenticate(request) {
      const found = await lookUp(request, { lookups: apiLookups, entries: [], withinMs: API_WITHIN_MS });
      return callerOf(found, 'api');
    },
    permits: ({ scopes }, permission) => scopes.some((scope) => scope === permission),
    charge: async (caller, cost) => {
      const bucket = `${caller.bucket}:key:${caller.keyId}`;
      return admissionOf(await limits.charge([{ bucket, policy: policyOf(caller) }], cost));
    },
    shareOf: ({ familyId }) => familyId,
    lastLimits: (caller) => rateLimitHeaders(fullState(policyOf(caller))),
    failedAuthentication: (request, exchange) =>
      addresses.refuse(exchange, request.clientAddress, presentedBy(request).keyHash === undefined),
    describe: ({ keyId }) => ({ keyId }),
  };

  return {
    guard,
    async lookUpEntries(request, { entries, readAtMs }) {
      const withinMs = readAtMs + gateDeadlineMs - now();
      const found = await lookUp(request, { lookups: gateLookups, entries, withinMs });
      return { caller: callerOf(found, 'gate'), prefetched: { found: found.found, readAtMs } };
    },
  };
}

function callerOf({ keyId, familyId, environment, scopes }: FoundCaller, bucket: GateCaller['bucket']): GateCaller {
  return { keyId, familyId, environment, scopes, bucket };
}

function unauthenticated(): AppError {
  return new AppError('UNAUTHENTICATED', 'No live key was presented.');
}

interface PresentedKey {
  readonly request: AuthRequest;
  /** Undefined where the header is missing, no bearer token, or not in the form of a gk_ key. */
  readonly keyHash: Buffer | undefined;
  /** The hash as a name in maps; empty where there is none. */
  readonly name: string;
}

/** Without I/O. */
function presentedKey(request: AuthRequest): PresentedKey {
  const token = bearerToken(request.header('authorization')[0] ?? '');
  const keyHash = token === undefined ? undefined : keyHashOf('gk_', token);
  return { request, keyHash, name: keyHash?.toString('latin1') ?? '' };
}

import { BoundedMap } from '@sealgate/api-keys';
import { bearerToken, keyHashOf } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { AuthRequest, Guard } from '@sealgate/http';
import { requestLimiter, type AddressLimiter, type LimitStore } from '@sealgate/rate-limits';
import type { CallerLookups } from './data/caller-lookups.ts';
import type { EntryIds, GateCaller } from './domain/gate-caller.ts';

export interface Limits {
  readonly ratePerSecond: number;
  readonly burst: number;
}

export interface GateGuardPorts {
  /** On connections of their own, so that nothing else can be in the gate's way. */
  readonly gateLookups: CallerLookups;
  readonly apiLookups: CallerLookups;
  /** Told the id of a key each time it is used. */
  readonly touchKey: (keyId: string) => void;
  readonly limits: LimitStore;
  readonly addresses: AddressLimiter;
  readonly policies: { readonly api: Limits; readonly gate: Limits };
  /** The budget of the gate, from the last byte of the body. */
  readonly gateDeadlineMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const API_WITHIN_MS = 1000;
/** Keys that were live when they were last looked up are remembered by their hashes; it decides nothing about access. */
const MOST_REMEMBERED = 10_000;

/** How surface B knows its callers: `Authorization: Bearer` with a gk_ key; one bucket for a key, another for its gate. */
export function gateGuard(ports: GateGuardPorts): Guard<GateCaller> {
  const { limits, policies, addresses, now } = ports;
  const limiters = {
    api: requestLimiter(limits, { name: 'key', ...policies.api }, now),
    gate: requestLimiter(limits, { name: 'key', ...policies.gate }, now),
  };
  const seen = new BoundedMap<string, true>(MOST_REMEMBERED);
  return {
    challenge: 'Bearer',
    isExpected(request) {
      const keyHash = presentedHash(request);
      return keyHash !== undefined && seen.has(nameOf(keyHash));
    },
    async authenticate(request): Promise<GateCaller> {
      const keyHash = presentedHash(request);
      const name = keyHash && nameOf(keyHash);
      const isSeen = name !== undefined && seen.has(name);
      const caller = keyHash === undefined ? undefined : await findCaller(ports, { keyHash, isSeen }, request);
      if (caller === undefined) {
        if (isSeen) seen.delete(name);
        throw new AppError('UNAUTHENTICATED', 'No live key was presented.');
      }
      if (!isSeen && name !== undefined) seen.set(name, true);
      ports.touchKey(caller.keyId);
      return caller;
    },
    permits: ({ scopes }, permission) => scopes.some((scope) => scope === permission),
    charge: ({ bucket, keyId }, _cost, exchange) => limiters[bucket].admit(`${bucket}:key:${keyId}`, exchange),
    lastLimits: ({ bucket }) => limiters[bucket].fullHeaders,
    failedAuthentication: (request, exchange) =>
      addresses.refuse(exchange, request.clientAddress, presentedHash(request) === undefined),
    describe: ({ keyId }) => ({ keyId }),
  };
}

function nameOf(keyHash: Buffer): string {
  return keyHash.toString('latin1');
}

async function findCaller(
  ports: GateGuardPorts,
  { keyHash, isSeen }: { readonly keyHash: Buffer; readonly isSeen: boolean },
  { ahead }: AuthRequest,
): Promise<GateCaller | undefined> {
  if (ahead === undefined) {
    const found = await ports.apiLookups.find(keyHash, [], API_WITHIN_MS);
    return found && { ...found, bucket: 'api', readAtMs: ports.now() };
  }
  const leftMs = ahead.readAtMs + ports.gateDeadlineMs - ports.now();
  // What a route of the gate looks ahead for is entries; a body with a fault names none.
  const entries = (ahead.value ?? []) as readonly EntryIds[];
  // Strangers wait among each other, so that the doors that are open find room and connections.
  const lookups = isSeen ? ports.gateLookups : ports.apiLookups;
  const found = await lookups.find(keyHash, entries, leftMs);
  return found && { ...found, bucket: 'gate', readAtMs: ahead.readAtMs };
}

/** Undefined without I/O: the header is missing, no bearer token, or no key of this surface by its form. */
function presentedHash(request: AuthRequest): Buffer | undefined {
  const token = bearerToken(request.header('authorization')[0] ?? '');
  return token === undefined ? undefined : keyHashOf('gk_', token);
}

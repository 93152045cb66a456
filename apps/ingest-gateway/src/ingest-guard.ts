import { keyHashOf } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { Admission, AuthRequest, Guard, RateLimitHeaders } from '@sealgate/http';
import {
  admissionOf,
  fullState,
  rateLimitHeaders,
  type AddressLimiter,
  type LimitState,
  type LimitStore,
  type LocalLimits,
  type Policy,
} from '@sealgate/rate-limits';
import { isSourceId, type IngestCaller } from './domain/caller.ts';
import type { KeyGrants } from './domain/key.ts';
import type { Limits } from './schemas.ts';

interface IngestGuardPorts {
  readonly findCaller: (keyHash: Buffer) => Promise<IngestCaller | undefined>;
  /** Finds the source with this id that accepts deliveries. */
  readonly findSource: (sourceId: string) => Promise<IngestCaller | undefined>;
  /** Called for a path that names no source which accepts deliveries. */
  readonly onUnknownSource: () => void;
  /** Callers of recent look-ups. Absent where the ledger cannot confirm them in the transaction of a write. */
  readonly cached?: {
    readonly caller: (keyHash: Buffer) => IngestCaller | undefined;
    readonly source: (sourceId: string) => IngestCaller | undefined;
  };
  /** Called with the id of a key each time it was looked up. */
  readonly touchKey: (keyId: string) => void;
  readonly limits: LimitStore;
  /** Per process: limits refusals that happen before the shared limits are charged. */
  readonly refusals: LocalLimits;
  readonly addresses: AddressLimiter;
  readonly defaultLimits: Limits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Refusals per second of one key and replica that are free of charge; above this rate the refusal itself is a 429. */
const REFUSAL_POLICY: Policy = { name: 'key', ratePerSecond: 50, burst: 50 };
/** Maximum number of keys whose last limits are remembered, for rate-limit headers of answers that were not charged. */
const MOST_REMEMBERED = 10_000;

export interface IngestGuard extends Guard<IngestCaller> {
  /** Charges the buckets of network and key together, by the number of records; also for test deliveries. */
  charge(caller: IngestCaller, cost: number): Promise<Admission>;
  /** The 429 for a source with too many recent refusals, decided without looking at the delivery or the source. */
  refuseFlooded(path: string): AppError | undefined;
}

/**
 * Authenticates callers of the public listener: `X-Api-Key` with an ingest key, charged to two buckets, its network's
 * and its own. Below `/hooks` the path names the source of a delivery, which has the same two buckets; its signature is
 * verified in `domain/take-delivery.ts`.
 */
export function ingestGuard(ports: IngestGuardPorts): IngestGuard {
  const { cached } = ports;
  const lastStates = new Map<string, { state: LimitState; untilMs: number }>();
  return {
    challenge: 'ApiKey',
    async authenticate(request: AuthRequest): Promise<IngestCaller> {
      if (request.path.startsWith(HOOKS)) return sourceAt(ports, request.path.slice(HOOKS.length));
      const keyHash = presentedHash(request);
      const caller = keyHash === undefined ? undefined : await ports.findCaller(keyHash);
      if (caller === undefined) throw new AppError('UNAUTHENTICATED', 'No live ingest key was presented.');
      ports.touchKey(caller.keyId);
      return caller;
    },
    ...(cached === undefined ? {} : { lately: cachedCallers(cached) }),
    permits: (caller, permission) => mayUse(caller.grants, permission),
    async charge(caller, cost): Promise<Admission> {
      const state = await ports.limits.charge(bucketsOf(caller, ports.defaultLimits), cost);
      remember(lastStates, caller.keyId, { state, untilMs: ports.now() + state.resetSeconds * 1000 });
      return admissionOf(state);
    },
    lastLimits(caller): RateLimitHeaders | undefined {
      // No limits are disclosed to callers that may not be the sender: refusals here precede the signature check.
      if (caller.source !== undefined) return undefined;
      const last = lastStates.get(caller.keyId);
      // The last state is stale if the limits have changed since, or if its reset time has passed.
      const isCurrent =
        last !== undefined && isPolicyOf(caller, ports.defaultLimits, last.state.policy) && ports.now() < last.untilMs;
      return rateLimitHeaders(isCurrent ? last.state : fullState(tighterOf(caller, ports.defaultLimits)));
    },
    refused(caller, error) {
      const state = ports.refusals.decide([{ bucket: caller.keyId, policy: REFUSAL_POLICY }], 1);
      if (state.admitted) return error;
      const headers = { ...rateLimitHeaders(state) };
      const options = { retryAfterSeconds: state.retryAfterSeconds, headers };
      const whose = caller.source === undefined ? 'requests of this key' : 'deliveries to this source';
      return new AppError('RATE_LIMITED', `Too many ${whose} were refused.`, options);
    },
    refuseFlooded(path) {
      const state = ports.refusals.decide([{ bucket: path.slice(HOOKS.length), policy: REFUSAL_POLICY }], 0);
      if (state.remaining >= 1) return undefined;
      const options = { retryAfterSeconds: 1, headers: { ...rateLimitHeaders(state) } };
      return new AppError('RATE_LIMITED', 'Too many deliveries to this source were refused.', options);
    },
    failedAuthentication: (request, exchange) =>
      ports.addresses.refuse(exchange, request.clientAddress, presentedHash(request) === undefined),
    describe: ({ keyId, networkId }) => ({ keyId, networkId }),
  };
}

const HOOKS = '/hooks/';

/** One 404 for unknown, deleted and disabled sources and for malformed ids. */
async function sourceAt({ findSource, onUnknownSource }: IngestGuardPorts, sourceId: string): Promise<IngestCaller> {
  const caller = isSourceId(sourceId) ? await findSource(sourceId) : undefined;
  if (caller !== undefined) return caller;
  onUnknownSource();
  throw new AppError('NOT_FOUND', 'There is nothing at this path.');
}

export function mayUse({ permissions }: KeyGrants, permission: string): boolean {
  return permissions === undefined || permissions.some((granted) => granted === permission);
}

function cachedCallers({ caller, source }: NonNullable<IngestGuardPorts['cached']>) {
  return {
    find(request: AuthRequest): IngestCaller | undefined {
      if (request.path.startsWith(HOOKS)) return source(request.path.slice(HOOKS.length));
      const keyHash = presentedHash(request);
      return keyHash === undefined ? undefined : caller(keyHash);
    },
    isUnchanged: (before: IngestCaller, now: IngestCaller) => before.guard.version === now.guard.version,
  };
}

/** Undefined where the header is missing, repeated, or not in the form of an ingest key. No I/O. */
function presentedHash(request: AuthRequest): Buffer | undefined {
  const keys = request.header('x-api-key');
  return keys.length === 1 ? keyHashOf('ingest_', keys[0]!) : undefined;
}

function policiesOf({ networkLimits, grants }: IngestCaller, defaults: Limits): readonly [Policy, Policy] {
  const [ofNetwork, ofKey] = [networkLimits ?? defaults, grants.limits ?? defaults];
  return [
    { name: 'network', ratePerSecond: ofNetwork.ratePerSecond, burst: ofNetwork.burst },
    { name: 'key', ratePerSecond: ofKey.ratePerSecond, burst: ofKey.burst },
  ];
}

function bucketsOf(caller: IngestCaller, defaults: Limits) {
  const [network, key] = policiesOf(caller, defaults);
  return [
    { bucket: `network:${caller.networkId}`, policy: network },
    { bucket: `key:${caller.keyId}`, policy: key },
  ];
}

function isPolicyOf(caller: IngestCaller, defaults: Limits, { name, ratePerSecond, burst }: Policy): boolean {
  return policiesOf(caller, defaults).some(
    (policy) => policy.name === name && policy.ratePerSecond === ratePerSecond && policy.burst === burst,
  );
}

function tighterOf(caller: IngestCaller, defaults: Limits): Policy {
  const [network, key] = policiesOf(caller, defaults);
  return key.burst < network.burst ? key : network;
}

function remember<State>(states: Map<string, State>, keyId: string, state: State): void {
  if (states.size >= MOST_REMEMBERED && !states.has(keyId)) states.delete(states.keys().next().value!);
  states.set(keyId, state);
}

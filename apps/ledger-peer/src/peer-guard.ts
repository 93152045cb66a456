import { AppError } from '@sealgate/errors';
import type { AuthRequest, Guard } from '@sealgate/http';
import { defined } from '@sealgate/json';
import {
  admissionOf,
  clientNetwork,
  fullState,
  rateLimitHeaders,
  type AddressLimiter,
  type LimitStore,
  type Policy,
} from '@sealgate/rate-limits';
import { ConfiguredKeys } from './api-keys.ts';
import { ANYBODY, CALLS_LEDGER, type PeerCaller, type Signers } from './domain/caller.ts';
import { LOGS_PATH } from './routes/log-paths.ts';

export interface PeerGuardPorts {
  /** If empty, calls need no key, and limits are by client address. */
  readonly keys: ConfiguredKeys;
  readonly limits: LimitStore;
  readonly addresses: AddressLimiter;
  readonly rate: Rate;
  /** Undefined on a ledger without identities: everybody may call it. */
  readonly signers?: Pick<Signers, 'ofKeyFamily'> | undefined;
  /** Reads of the public log have their own buckets. */
  readonly log: { readonly rate: Rate; readonly isOpen: (channel: string) => boolean };
}

interface Rate {
  readonly ratePerSecond: number;
  readonly burst: number;
}

/**
 * Authentication of surface C: `X-Api-Key` if keys are configured; for checkpoints, tiles and entries of the log also
 * the same key as a bearer token, or no key if the channel's log is public. The list of the public logs needs none. Each request costs 1.
 */
export function peerGuard({ keys, limits, addresses, rate, log, signers }: PeerGuardPorts): Guard<PeerCaller> {
  const policyOf = ({ familyId, limit }: PeerCaller): Policy => ({
    name: familyId === ANYBODY ? 'address' : 'key',
    ...(limit === 'log' ? log.rate : rate),
  });
  const callerOf = (familyId: string, bucket: string, limit: PeerCaller['limit']): PeerCaller => ({
    ...{ familyId, bucket, limit },
    ...defined({ identity: signers?.ofKeyFamily(familyId) }),
  });
  return {
    challenge: 'ApiKey',
    async authenticate(request: AuthRequest): Promise<PeerCaller> {
      const channel = channelOfLog(request.path);
      const [limit, prefix] = isOfLog(request.path) ? (['log', 'peer:log'] as const) : (['calls', 'peer'] as const);
      const isOpen = channel === undefined ? request.path === LOGS_PATH : log.isOpen(channel);
      const key = keys.find(presentedKey(request));
      if (key !== undefined) {
        const keyDigits = key.hash.toString('hex', 0, BUCKET_BYTES);
        return { ...callerOf(key.familyId, `${prefix}:key:${keyDigits}`, limit), keyDigits };
      }
      if (keys.size > 0 && !isOpen) throw new AppError('UNAUTHENTICATED', 'No configured key was presented.');
      return callerOf(ANYBODY, `${prefix}:address:${clientNetwork(request.clientAddress)}`, limit);
    },
    permits: ({ identity }, permission) =>
      permission !== CALLS_LEDGER || signers === undefined || identity !== undefined,
    charge: async (caller, cost) =>
      admissionOf(await limits.charge([{ bucket: caller.bucket, policy: policyOf(caller) }], cost)),
    // The bucket names the key, or the address of a caller without one.
    shareOf: ({ bucket }) => bucket,
    lastLimits: (caller) => rateLimitHeaders(fullState(policyOf(caller))),
    failedAuthentication: (request, exchange) =>
      addresses.refuse(exchange, request.clientAddress, !ConfiguredKeys.mayBe(presentedKey(request))),
    describe: ({ familyId }) => ({ keyId: familyId }),
  };
}

/** Enough of a hash to distinguish keys, and too little to search for them. */
const BUCKET_BYTES = 8;

/** Empty if absent; repeated headers are rejected earlier. */
function presentedKey(request: AuthRequest): string {
  const [key] = request.header('x-api-key');
  if (key !== undefined || !isOfLog(request.path)) return key ?? '';
  return /^bearer +(\S+)$/i.exec(request.header('authorization')[0] ?? '')?.[1] ?? '';
}

/** Whether a path is that of a log, or of the list of the public ones. */
export const isOfLog = (path: string): boolean => path === LOGS_PATH || channelOfLog(path) !== undefined;

/**
 * The channel of a path to checkpoint, tiles, entries or logs. Proofs of a record contain its salt, so they are
 * excluded.
 */
function channelOfLog(path: string): string | undefined {
  const [, channel, rest] = /^\/ledger\/([^/]+)(?:\/([^/]+))?/.exec(path) ?? [];
  if (channel === undefined || rest === 'records') return undefined;
  try {
    return decodeURIComponent(channel);
  } catch {
    // decodeURIComponent fails only for malformed paths, which name no channel.
    return undefined;
  }
}

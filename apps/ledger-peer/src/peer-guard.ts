import { AppError } from '@sealgate/errors';
import type { AuthRequest, Guard } from '@sealgate/http';
import { clientNetwork, requestLimiter, type AddressLimiter, type LimitStore } from '@sealgate/rate-limits';
import { ConfiguredKeys } from './api-keys.ts';
import type { PeerCaller } from './domain/caller.ts';

export interface PeerGuardPorts {
  /** With none, everybody may call, and limits are kept by client address. */
  readonly keys: ConfiguredKeys;
  readonly limits: LimitStore;
  readonly addresses: AddressLimiter;
  readonly rate: { readonly ratePerSecond: number; readonly burst: number };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The family of those who need no key: they share their jobs and Idempotency-Keys. */
const ANYBODY = 'anybody';

/** How surface C knows its callers: `X-Api-Key` where keys are configured. Each request costs 1. */
export function peerGuard({ keys, limits, addresses, rate, now }: PeerGuardPorts): Guard<PeerCaller> {
  const isOpen = keys.size === 0;
  const limiter = requestLimiter(limits, { name: isOpen ? 'address' : 'key', ...rate }, now);
  return {
    challenge: 'ApiKey',
    async authenticate(request: AuthRequest): Promise<PeerCaller> {
      if (isOpen) return { familyId: ANYBODY, bucket: `peer:address:${clientNetwork(request.clientAddress)}` };
      const key = keys.find(presentedKey(request));
      if (key === undefined) throw new AppError('UNAUTHENTICATED', 'No configured key was presented.');
      return { familyId: key.familyId, bucket: `peer:key:${key.hash.toString('hex', 0, BUCKET_BYTES)}` };
    },
    permits: () => true,
    charge: ({ bucket }, _cost, exchange) => limiter.admit(bucket, exchange),
    lastLimits: () => limiter.fullHeaders,
    failedAuthentication: (request, exchange) =>
      addresses.refuse(exchange, request.clientAddress, !ConfiguredKeys.mayBe(presentedKey(request))),
    describe: ({ familyId }) => ({ keyId: familyId }),
  };
}

/** Enough of a hash to tell keys apart, and too little to look for them by it. */
const BUCKET_BYTES = 8;

/** Empty where the header is missing; one that is there twice was refused before. */
function presentedKey(request: AuthRequest): string {
  return request.header('x-api-key')[0] ?? '';
}

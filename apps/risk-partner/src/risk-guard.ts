import { bearerToken, keyHashOf } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import type { Admission, AuthRequest, Guard } from '@sealgate/http';
import { rateLimitHeaders, refuseAddress, type AddressLimiter, type LimitStore } from '@sealgate/rate-limits';
import type { RiskCaller } from './domain/caller.ts';
import { mayDo } from './domain/permissions.ts';

export interface RiskGuardPorts {
  readonly findCaller: (keyHash: Buffer) => Promise<RiskCaller | undefined>;
  /** Told the id of a key each time it is used. */
  readonly touchKey: (keyId: string) => void;
  readonly limits: LimitStore;
  readonly addresses: AddressLimiter;
  readonly keyLimits: { readonly ratePerSecond: number; readonly burst: number };
}

/** How surface A knows its callers: `Authorization: Bearer svc_...`, one bucket for each key, one table of permissions. */
export function riskGuard(ports: RiskGuardPorts): Guard<RiskCaller> {
  const policy = { name: 'key', ...ports.keyLimits } as const;
  return {
    challenge: 'Bearer',
    async authenticate(request: AuthRequest): Promise<RiskCaller> {
      const keyHash = presentedHash(request);
      const caller = keyHash === undefined ? undefined : await ports.findCaller(keyHash);
      if (caller === undefined) throw new AppError('UNAUTHENTICATED', 'No live key was presented.');
      ports.touchKey(caller.keyId);
      return caller;
    },
    permits: ({ roles }, permission) => mayDo(roles, permission),
    async charge({ keyId }, cost): Promise<Admission> {
      const state = await ports.limits.charge([{ bucket: `key:${keyId}`, policy }], cost);
      return { admitted: state.admitted, headers: rateLimitHeaders(state), retryAfterSeconds: state.retryAfterSeconds };
    },
    failedAuthentication: (request) => refuseAddress(ports.addresses, request, presentedHash(request) === undefined),
    describe: ({ keyId, orgId }) => ({ keyId, orgId }),
  };
}

/** Undefined without I/O: the header is missing, there twice, or holds no key of this surface by its form. */
function presentedHash(request: AuthRequest): Buffer | undefined {
  const headers = request.header('authorization');
  const token = headers.length === 1 ? bearerToken(headers[0]!) : undefined;
  return token === undefined ? undefined : keyHashOf('svc_', token);
}

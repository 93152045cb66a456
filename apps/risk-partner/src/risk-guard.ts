import { bearerToken, keyHashOf } from '@sealgate/auth';
import { isRefused, isTokenForm, notesOf, type AccessToken, type AccessTokens } from '@sealgate/identity';
import { AppError } from '@sealgate/errors';
import type { AuthRequest, Guard } from '@sealgate/http';
import { admissionOf, type AddressLimiter, type LimitStore, type Policy } from '@sealgate/rate-limits';
import type { RiskCaller } from './domain/caller.ts';
import { signIn, type SignInPorts } from './domain/identities.ts';
import { mayDo } from './domain/permissions.ts';
import { MCP_PATH, metadataUrl, type McpSignIn } from './routes/mcp.ts';
import { ORGANIZATIONS_PATH } from './routes/whoami.ts';

export interface RiskGuardPorts {
  readonly findCaller: (keyHash: Buffer) => Promise<RiskCaller | undefined>;
  /** The caller that the last look-up of this key found, if it was seconds ago. */
  readonly recentCaller: (keyHash: Buffer) => RiskCaller | undefined;
  /** Absent: only API keys are accepted. */
  readonly people?:
    | {
        readonly tokens: AccessTokens;
        readonly store: SignInPorts;
        /** Called with each valid token that belongs to nobody. Never waits. */
        readonly onUnlinked: (token: AccessToken) => void;
      }
    | undefined;
  /** Called with the id of a key on each use. */
  readonly touchKey: (keyId: string) => void;
  /** Called with the id of a person on each request of theirs, by key or token. Never waits. */
  readonly touchPerson: (personId: string) => void;
  readonly limits: LimitStore;
  readonly addresses: AddressLimiter;
  /** Named in a 401 of the tools. Undefined: only API keys are accepted there. */
  readonly mcpSignIn?: McpSignIn | undefined;
  readonly keyLimits: { readonly ratePerSecond: number; readonly burst: number };
}

/**
 * Authentication of surface A: `Authorization: Bearer` with an API key (`svc_...`) or an access token of a configured
 * issuer. One rate-limit bucket per key, and one per signed-in person.
 */
export function riskGuard(ports: RiskGuardPorts): Guard<RiskCaller> {
  const toolMetadata = ports.mcpSignIn && metadataUrl(ports.mcpSignIn);
  const policy: Policy = { name: 'key', ...ports.keyLimits };
  return {
    challenge: 'Bearer',
    resourceMetadata: (path) => (path === MCP_PATH ? toolMetadata : undefined),
    async authenticate(request: AuthRequest): Promise<RiskCaller> {
      const presented = presentedBy(request);
      const keyHash = keyHashOf('svc_', presented);
      const caller =
        keyHash === undefined ? await findPerson(ports, request, presented) : await ports.findCaller(keyHash);
      if (caller === undefined)
        throw new AppError('UNAUTHENTICATED', 'The bearer token is no valid key or access token.');
      if (keyHash !== undefined) ports.touchKey(caller.credential.id);
      ports.touchPerson(caller.personId);
      return caller;
    },
    lately: {
      find(request) {
        const keyHash = keyHashOf('svc_', presentedBy(request));
        return keyHash && ports.recentCaller(keyHash);
      },
      isUnchanged: (before, now) => before.version === now.version,
    },
    permits: ({ roles }, permission) => mayDo(roles, permission),
    charge: async ({ credential, personId }, cost) => {
      const bucket = credential.kind === 'key' ? `key:${credential.id}` : `person:${personId}`;
      return admissionOf(await ports.limits.charge([{ bucket, policy }], cost));
    },
    shareOf: ({ personId }) => personId,
    failedAuthentication: (request, exchange) =>
      ports.addresses.refuse(exchange, request.clientAddress, isMalformed(ports, presentedBy(request))),
    describe: ({ credential, orgId }) => (credential.kind === 'key' ? { keyId: credential.id, orgId } : { orgId }),
  };
}

/** The bearer token; empty if the header is missing, repeated, or of another scheme. */
function presentedBy(request: AuthRequest): string {
  const headers = request.header('authorization');
  return (headers.length === 1 ? bearerToken(headers[0]!) : undefined) ?? '';
}

/** By its form neither a key of this surface nor an access token, so it is refused without I/O. */
const isMalformed = ({ people }: RiskGuardPorts, presented: string): boolean =>
  keyHashOf('svc_', presented) === undefined && !(people !== undefined && isTokenForm(presented));

/** @throws AppError INVALID_HEADER, UNAVAILABLE */
async function findPerson(
  { people }: RiskGuardPorts,
  request: AuthRequest,
  presented: string,
): Promise<RiskCaller | undefined> {
  // A mistyped key has no dot: it is not called a bad access token.
  if (people === undefined || !presented.includes('.')) return undefined;
  const token = await people.tokens.check(presented, request.path === MCP_PATH ? 'mcp' : 'api');
  if (isRefused(token)) {
    request.note(notesOf(token));
    return undefined;
  }
  const found = await signIn(people.store, token, {
    organization: organizationOf(request),
    // The client lists its organisations before it can name one.
    mayBeAny: request.path === ORGANIZATIONS_PATH,
  });
  if (!('refused' in found)) return found;
  if (found.refused === 'not_linked') people.onUnlinked(token);
  request.note(notesOf({ ...found, issuer: token.issuer, subject: token.subject }));
  return undefined;
}

/** @throws AppError INVALID_HEADER if the header is repeated. */
function organizationOf(request: AuthRequest): string | undefined {
  const [organization, ...more] = request.header('x-organization');
  if (more.length === 0) return organization;
  throw new AppError('INVALID_HEADER', 'X-Organization is repeated.', {
    faults: [{ in: 'header', pointer: '/X-Organization', detail: 'must appear once' }],
  });
}

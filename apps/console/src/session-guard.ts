import { AppError } from '@sealgate/errors';
import type { Guard } from '@sealgate/http';
import type { Cookies } from './domain/cookies.ts';
import type { Session } from './domain/session.ts';

/** A caller: a signed-in person, or a key that the surface will check. */
export interface ConsoleCaller {
  readonly session: Session | undefined;
  /** The value of X-Api-Key. */
  readonly key: string | undefined;
}

/** The form of keys: 47 characters for keys of the surfaces; operators may choose others. */
const KEY_MAX_CHARACTERS = 512;
/** The only paths to which a key is forwarded: what a door asks the gate, about a person and about its own venue. */
const DOOR_PATH = /^\/api\/case-gate\/v1\/gate\/(?:check|venues\/[A-Za-z0-9_-]{1,64})$/;
/** The public keys of a surface, which it serves to everybody: outsiders check proofs with them on the page Verify. */
const PUBLISHED_PATH = /^\/api\/[a-z-]+\/\.well-known\/jwks\.json$/;
/**
 * The public logs, and what a person looks for in one. The ledger peer answers without a key only for channels that PUBLIC_LOG
 * names, and limits each address.
 */
const PUBLIC_LOG_PATH = /^\/api\/ledger-peer\/ledger(?:\/[a-z0-9][a-z0-9.-]{0,127}\/(?:entry|overview))?$/;

/**
 * Authenticates by the session cookie, unless the session has ended. The only alternative is a key, on the door's paths
 * alone: it is forwarded and grants nothing here. Published keys and public logs need neither, and are asked for without
 * a credential.
 * The console has no permissions or limits of its own; the surfaces have.
 */
export function sessionGuard({
  cookies,
  isLive,
}: {
  readonly cookies: Cookies;
  /** @throws AppError UNAVAILABLE, OVERLOADED, RATE_LIMITED if nobody can tell. */
  readonly isLive: (session: Session) => Promise<boolean>;
}): Guard<ConsoleCaller> {
  return {
    challenge: 'Bearer',
    async authenticate(request) {
      const [key] = DOOR_PATH.test(request.path) ? request.header('x-api-key') : [];
      // The session makes no difference to a key, so it is not looked up.
      if (key !== undefined && key !== '' && key.length <= KEY_MAX_CHARACTERS) return { session: undefined, key };
      if (PUBLISHED_PATH.test(request.path) || PUBLIC_LOG_PATH.test(request.path))
        return { session: undefined, key: undefined };
      const session = cookies.session(request.header('cookie'));
      if (session !== undefined && (await isLive(session))) return { session, key: undefined };
      throw new AppError('UNAUTHENTICATED', 'Not signed in.');
    },
    permits: () => false,
    charge: () => Promise.reject(new Error('No route of the console is charged.')),
  };
}

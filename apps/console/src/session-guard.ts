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
const API = '/api/';

/**
 * Authenticates by the session cookie. The only alternative is a key, for the public listeners alone: it is forwarded
 * and grants nothing here. The console has no permissions or limits of its own; the surfaces have.
 */
export function sessionGuard(cookies: Cookies): Guard<ConsoleCaller> {
  return {
    challenge: 'Bearer',
    authenticate(request) {
      const session = cookies.session(request.header('cookie'));
      const [key] = request.path.startsWith(API) ? request.header('x-api-key') : [];
      const isKey = key !== undefined && key !== '' && key.length <= KEY_MAX_CHARACTERS;
      if (session !== undefined || isKey) return Promise.resolve({ session, key: isKey ? key : undefined });
      return Promise.reject(new AppError('UNAUTHENTICATED', 'Not signed in.'));
    },
    permits: () => false,
    charge: () => Promise.reject(new Error('No route of the console is charged.')),
  };
}

import { AppError } from '@sealgate/errors';
import type { Guard } from '@sealgate/http';
import type { Cookies } from './domain/cookies.ts';
import type { Session } from './domain/session.ts';

/** Who asks: somebody who is signed in, or whoever typed a key that the surface will look at. */
export interface ConsoleCaller {
  readonly session: Session | undefined;
  /** Of X-Api-Key. */
  readonly key: string | undefined;
}

/** Of the keys of the surfaces, which have 47 characters, and of those that operators choose. */
const KEY_MAX_CHARACTERS = 512;
const API = '/api/';

/**
 * Callers are known by the session cookie. The one other way in is a key, and only to the public listeners: it is passed on
 * and gives no right here. The console has no permissions and no limits of its own: surfaces refuse and count.
 */
export function sessionGuard(cookies: Cookies): Guard<ConsoleCaller> {
  return {
    challenge: 'Bearer',
    authenticate(request) {
      const session = cookies.session(request.header('cookie'));
      const [key] = request.path.startsWith(API) ? request.header('x-api-key') : [];
      const isKey = key !== undefined && key !== '' && key.length <= KEY_MAX_CHARACTERS;
      if (session !== undefined || isKey) return Promise.resolve({ session, key: isKey ? key : undefined });
      return Promise.reject(new AppError('UNAUTHENTICATED', 'Nobody is signed in.'));
    },
    permits: () => false,
    charge: () => Promise.reject(new Error('No route of the console has a price.')),
  };
}

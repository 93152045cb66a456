import { AppError } from '@sealgate/errors';
import type { AskAdmin } from '../domain/overview-access.ts';
import type { Session } from '../domain/session.ts';
import type { Audience } from '../domain/surfaces.ts';

const DEADLINE_MS = 2_000;

/** What the person can bring about with many requests says nothing about the listener. */
const OWN_DOING: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'RATE_LIMITED', 'OVERLOADED']);

/** Asks `whoami` of the admin listener with the person's token. Undefined: it did not answer, or the provider is away. */
export const askAdmin =
  ({
    tokenFor,
  }: {
    /** @throws AppError UNAUTHENTICATED, UNAVAILABLE, OVERLOADED, RATE_LIMITED */
    readonly tokenFor: (session: Session, audience: Audience) => Promise<{ readonly token: string }>;
  }): AskAdmin =>
  async (session, { admin }) => {
    if (admin?.audience === undefined) return false;
    try {
      const { token } = await tokenFor(session, admin.audience);
      const response = await fetch(`${admin.url}/admin/v1/whoami`, {
        headers: { authorization: `Bearer ${token}` },
        redirect: 'manual',
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      await response.body?.cancel();
      if (response.status === 429) throw new AppError('RATE_LIMITED', 'Too many of your requests at this surface.');
      return response.ok ? true : response.status >= 500 ? undefined : false;
    } catch (error) {
      if (error instanceof AppError && OWN_DOING.has(error.code)) throw error;
      return undefined; // A network error, a timeout, or the provider is away: it is not known.
    }
  };

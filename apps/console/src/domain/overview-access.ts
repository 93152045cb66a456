import { AppError } from '@sealgate/errors';
import type { Session } from './session.ts';
import type { Surface, SurfaceId } from './surfaces.ts';

/**
 * Whether a person may read an admin listener; undefined if it cannot be asked now, through no doing of the person.
 * @throws AppError UNAUTHENTICATED, RATE_LIMITED, OVERLOADED
 */
export type AskAdmin = (session: Session, surface: Surface) => Promise<boolean | undefined>;

const KEEP_MS = 10_000;
/** How long the last verdict is used while the listener cannot be asked: the overview is there to show outages. */
const GRACE_MS = 600_000;
const MAX_SESSIONS = 2_000;

interface Known {
  readonly may: boolean;
  readonly atMs: number;
}

/**
 * Which surfaces' states a person may see: those whose admin listener they may read, told by its `whoami`. The states
 * come from ops listeners, which have no authentication of their own.
 */
export function overviewAccess({
  surfaces,
  ask,
  now,
}: {
  readonly surfaces: readonly Surface[];
  readonly ask: AskAdmin;
  readonly now: () => number;
}) {
  /** By session, ordered by last use. */
  const sessions = new Map<string, Map<SurfaceId, Known>>();
  const knownOf = (id: string): Map<SurfaceId, Known> => {
    const known = sessions.get(id) ?? new Map<SurfaceId, Known>();
    sessions.delete(id);
    sessions.set(id, known);
    const [oldest] = sessions.size > MAX_SESSIONS ? sessions.keys() : [];
    if (oldest !== undefined) sessions.delete(oldest);
    return known;
  };
  const mayRead = async (session: Session, surface: Surface): Promise<boolean | undefined> => {
    const known = knownOf(session.id);
    const kept = known.get(surface.id);
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : now() - kept.atMs;
    if (ageMs < KEEP_MS) return kept?.may;
    const may = await ask(session, surface);
    if (may !== undefined) known.set(surface.id, { may, atMs: now() });
    return may ?? (ageMs < GRACE_MS ? kept?.may : undefined);
  };

  /**
   * The surfaces to show. One that cannot be asked is shown only to whoever could read it lately: that somebody may read
   * another proves nothing.
   * @throws AppError FORBIDDEN if none may be seen, UNAVAILABLE if none can be asked, RATE_LIMITED, OVERLOADED.
   */
  return async (session: Session): Promise<ReadonlySet<SurfaceId>> => {
    const verdicts = await Promise.all(
      surfaces.map(async (surface) => ({ id: surface.id, may: await mayRead(session, surface) })),
    );
    const shown = new Set(verdicts.filter(({ may }) => may === true).map(({ id }) => id));
    if (shown.size > 0) return shown;
    if (verdicts.some(({ may }) => may === undefined))
      throw new AppError('UNAVAILABLE', 'No admin listener can be asked whether you may see the overview.');
    throw new AppError('FORBIDDEN', 'The overview is for people who may read an admin listener.');
  };
}

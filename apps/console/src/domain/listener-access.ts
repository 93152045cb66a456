import { AppError } from '@sealgate/errors';
import type { Session } from './session.ts';
import type { Surface, SurfaceId } from './surfaces.ts';

/** What a person may do on an admin listener, as its `whoami` tells. */
export interface AdminRights {
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
}

/** What a person may do on the public listener of the risk partner. */
export interface PersonRights {
  /** May read the partner API alone. */
  readonly isPartner: boolean;
  readonly organizations: readonly OrganizationRights[];
}

/** An organisation with what the person may do there, as the risk partner tells; null: it invited them. */
export interface OrganizationRights {
  readonly id: string;
  readonly name: string;
  readonly member: {
    readonly personId: string;
    readonly roles: readonly string[];
    readonly permissions: readonly string[];
    readonly scope: {
      readonly departments: readonly string[];
      readonly canReadSensitive: boolean;
      readonly unrestricted: boolean;
    };
  } | null;
}

/** A kind of work that a surface has yet to do, as its admin listener tells. */
export interface WaitingItem {
  readonly what: string;
  readonly description: string;
  readonly count: number;
  readonly oldestAt: string | null;
}

/** Undefined where the listener does not say. @throws AppError UNAUTHENTICATED, RATE_LIMITED, OVERLOADED */
export type AskWaiting = (session: Session, surface: Surface) => Promise<readonly WaitingItem[] | undefined>;

/** False: not theirs. Undefined: the listener cannot be asked now, through no doing of the person. */
type Told<Rights> = Rights | false | undefined;

/** @throws AppError UNAUTHENTICATED, RATE_LIMITED, OVERLOADED */
type Ask<Rights> = (session: Session, surface: Surface) => Promise<Told<Rights>>;
export type AskAdmin = Ask<AdminRights>;
export type AskPerson = Ask<PersonRights>;

const KEEP_MS = 10_000;
/** How long the last verdict is used while the listener cannot be asked: the overview is there to show outages. */
const GRACE_MS = 600_000;
const MAX_SESSIONS = 2_000;

/** Verdicts of one kind, by session and surface. The last one is used for a while where none can be had. */
class Verdicts<Rights> {
  readonly #ask: Ask<Rights>;
  readonly #now: () => number;
  /** By session, ordered by last use. */
  readonly #sessions = new Map<string, Map<SurfaceId, { readonly rights: Rights | false; readonly atMs: number }>>();

  constructor(ask: Ask<Rights>, now: () => number) {
    this.#ask = ask;
    this.#now = now;
  }

  async of(session: Session, surface: Surface): Promise<Told<Rights>> {
    const known = this.#knownOf(session.id);
    const kept = known.get(surface.id);
    const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : this.#now() - kept.atMs;
    if (ageMs < KEEP_MS) return kept?.rights;
    const rights = await this.#ask(session, surface);
    if (rights !== undefined) known.set(surface.id, { rights, atMs: this.#now() });
    return rights ?? (rights === undefined && ageMs < GRACE_MS ? kept?.rights : undefined);
  }

  #knownOf(id: string) {
    const known = this.#sessions.get(id) ?? new Map<SurfaceId, { rights: Rights | false; atMs: number }>();
    this.#sessions.delete(id);
    this.#sessions.set(id, known);
    const [oldest] = this.#sessions.size > MAX_SESSIONS ? this.#sessions.keys() : [];
    if (oldest !== undefined) this.#sessions.delete(oldest);
    return known;
  }
}

/** What a person may do on the listeners of a surface; undefined where the listener cannot be asked now. */
export interface SurfaceRights {
  readonly id: SurfaceId;
  readonly admin: Told<AdminRights>;
  /** Of the risk partner alone: elsewhere the public listener takes keys only. */
  readonly api: Told<PersonRights>;
}

/**
 * What a person may do at each surface, told by `whoami` of its listeners. It decides what is offered, and whose states
 * are shown: those come from ops listeners, which have no authentication of their own.
 */
export function listenerAccess({
  surfaces,
  askAdmin,
  askPerson,
  askWaiting,
  now,
}: {
  readonly surfaces: readonly Surface[];
  readonly askAdmin: AskAdmin;
  readonly askPerson: AskPerson;
  readonly askWaiting: AskWaiting;
  readonly now: () => number;
}) {
  const admins = new Verdicts(askAdmin, now);
  const people = new Verdicts(askPerson, now);
  return {
    /** @throws AppError UNAUTHENTICATED, RATE_LIMITED, OVERLOADED */
    rightsOf: (session: Session): Promise<SurfaceRights[]> =>
      Promise.all(
        surfaces.map(async (surface) => {
          const [admin, api] = await Promise.all([
            admins.of(session, surface),
            surface.id === 'risk-partner' ? people.of(session, surface) : (false as const),
          ]);
          return { id: surface.id, admin, api };
        }),
      ),

    /** What waits at each of these surfaces. @throws AppError UNAUTHENTICATED, RATE_LIMITED, OVERLOADED */
    waitingAt: (session: Session, shown: ReadonlySet<SurfaceId>) =>
      Promise.all(
        surfaces
          .filter(({ id }) => shown.has(id))
          .map(async (surface) => ({ id: surface.id, items: await askWaiting(session, surface) })),
      ),

    /**
     * The surfaces to show. One that cannot be asked is shown only to whoever could read it lately: that somebody may
     * read another proves nothing.
     * @throws AppError FORBIDDEN if none may be seen, UNAVAILABLE if none can be asked, RATE_LIMITED, OVERLOADED.
     */
    async mayOverview(session: Session): Promise<ReadonlySet<SurfaceId>> {
      const verdicts = await Promise.all(
        surfaces.map(async (surface) => ({ id: surface.id, rights: await admins.of(session, surface) })),
      );
      const mayRead = (rights: AdminRights) => rights.permissions.includes('admin:read');
      const shown = new Set(verdicts.filter(({ rights }) => rights && mayRead(rights)).map(({ id }) => id));
      if (shown.size > 0) return shown;
      if (verdicts.some(({ rights }) => rights === undefined))
        throw new AppError('UNAVAILABLE', 'No admin listener can be asked whether you may see the overview.');
      throw new AppError('FORBIDDEN', 'The overview is for people who may read an admin listener.');
    },
  };
}

import type { Schemas } from '@sealgate/client';
import { api } from './api.ts';
import { useSession, type Session, type SurfaceId } from './session.ts';

type Rights = Schemas['consoleServer']['Mine'];
type PersonRights = Schemas['consoleServer']['PersonRights'];
export type MemberRights = Schemas['consoleServer']['MemberRights'];

/** The parts of the console by address. */
export type PartName =
  'home' | 'networks' | 'events' | 'ledger' | 'operations' | 'risks' | 'cases' | 'door' | 'verify' | 'log';

/** The start pages. */
export type HomeKind = 'person' | 'partner' | 'reviewer' | 'author' | 'operator';

/**
 * What is offered to the signed-in person: parts in the menu, start pages, tabs and buttons. It is decided here alone, and
 * enforced by the surfaces.
 */
export class Mine {
  readonly #session: Session;
  readonly #rights: Rights;

  constructor(session: Session, rights: Rights) {
    this.#session = session;
    this.#rights = rights;
  }

  /** Whether an action or page of an admin listener with this permission is offered. */
  admin(surface: SurfaceId, permission: string): boolean {
    return this.#of(surface)?.admin?.permissions.includes(permission) ?? false;
  }

  /** The surfaces whose admin listener the person may read. */
  get readable(): readonly SurfaceId[] {
    return this.#rights.surfaces.map(({ id }) => id).filter((id) => this.admin(id, 'admin:read'));
  }

  /** The roles at the admin listeners that are theirs. */
  get administers(): readonly { readonly id: SurfaceId; readonly roles: readonly string[] }[] {
    return this.#rights.surfaces.flatMap(({ id, admin }) => (admin === null ? [] : [{ id, roles: admin.roles }]));
  }

  /** Membership in organisations of the risk partner; undefined if there is none, or it is not known. */
  get person(): PersonRights | undefined {
    return this.#of('risk-partner')?.api ?? undefined;
  }

  /** Listeners that cannot be asked, so that what is theirs is not known. */
  get unknown(): readonly SurfaceId[] {
    return this.#rights.surfaces.filter(({ unknown }) => unknown.length > 0).map(({ id }) => id);
  }

  offers(part: PartName): boolean {
    switch (part) {
      case 'home':
      case 'verify':
        return true;
      case 'networks':
      case 'events':
        return this.admin('ingest-gateway', 'admin:read');
      case 'ledger':
        return this.admin('ingest-gateway', 'admin:read') || this.admin('ledger-peer', 'admin:read');
      case 'operations':
        return this.readable.length > 0;
      case 'risks':
        return this.person?.isPartner === false;
      case 'cases':
        return this.admin('case-gate', 'policies:read');
      case 'log':
        return this.#session.surfaces.some(({ id, api }) => id === 'ledger-peer' && api);
      case 'door':
        // It asks by the key of a venue, so an address is enough; the menu has it for those who run the gate.
        return this.offers('cases') && this.#session.surfaces.some(({ id, api }) => id === 'case-gate' && api);
    }
  }

  /** The start pages of the person, the most useful first. */
  get homes(): readonly HomeKind[] {
    const { person } = this;
    const cases = (permission: string) => this.admin('case-gate', permission) && !this.admin('case-gate', 'admin:read');
    const homes: readonly (readonly [HomeKind, boolean])[] = [
      ['person', person?.isPartner === false],
      ['partner', person?.isPartner === true],
      ['reviewer', cases('cases:review')],
      ['author', cases('policies:draft')],
      ['operator', this.readable.length > 0],
    ];
    return homes.filter(([, isTheirs]) => isTheirs).map(([home]) => home);
  }

  #of(surface: SurfaceId) {
    return this.#rights.surfaces.find(({ id }) => id === surface);
  }
}

/** Undefined while it is not known, and without a session. */
export function useMine() {
  const session = useSession();
  const person = session.data?.person ?? undefined;
  // The person is a part of the key alone: another one may sign in under an open page.
  const of = `${person?.issuer} ${person?.subject}`;
  const { data, ...query } = api.useQuery('get', '/mine', { of }, { enabled: person !== undefined, staleTime: 30_000 });
  const mine = session.data === undefined || data === undefined ? undefined : new Mine(session.data, data);
  return { ...query, mine };
}

/** Whether to offer what needs this permission on the admin listener of a surface. */
export const useMayAdmin = (surface: SurfaceId, permission: string): boolean =>
  useMine().mine?.admin(surface, permission) ?? false;

import type { Statement } from '@sealgate/storage';

/** What a database role may do with the records of a channel; see migrations/0007_grants.sql. */
export type LedgerRight = 'append' | 'read' | 'audit' | 'erase' | 'integrate';

export interface LedgerGrant {
  /** A name; `all`; or `unowned`: every channel that no grant owns. */
  readonly channel: string;
  readonly rights: readonly LedgerRight[];
  /** Whether `unowned` of other roles ends here. */
  readonly owns?: true;
}

/** What the migration job of a surface was told. */
export interface GrantsOrder {
  /** The schema of the surface. */
  readonly surface: string;
  /** Undefined where the service uses the owner's role, which cannot be held back. */
  readonly role: string | undefined;
  /** The role of ADMIN_DATABASE_URL. Where there is one, the role of run time neither audits nor erases. */
  readonly adminRole?: string | undefined;
  /** Undefined: the job was not told which channels the service uses. */
  readonly channels: SurfaceChannels | undefined;
  readonly integrates: boolean;
}

/**
 * - owned: the service writes and reads these, and nobody does whose grant does not name them
 * - shared: it writes and reads these; other surfaces may, too
 * - unowned: its channels are made while it runs
 */
export type SurfaceChannels =
  | { readonly kind: 'owned' | 'shared'; readonly names: readonly string[] }
  | { readonly kind: 'unowned'; readonly reads: boolean };

const OPERATING: readonly LedgerRight[] = ['read', 'audit', 'erase'];

/** The statements that give the roles of a surface their rights in the ledger: the last step of its migration job. */
export function ledgerGrants(order: GrantsOrder): Statement[] {
  const { surface, role, adminRole } = order;
  const told: [role: string | undefined, surface: string, grants: readonly LedgerGrant[]][] = [
    [role, surface, surfaceGrants(order)],
    // Under a name of its own, so that one role can be both.
    [adminRole, `${surface} admin`, [{ channel: 'all', rights: OPERATING }]],
  ];
  return told.flatMap(([of, by, grants]) =>
    of === undefined
      ? []
      : [{ text: 'SELECT ledger.set_grants($1, $2, $3)', values: [of, by, JSON.stringify(grants)] }],
  );
}

/** `rights` of a surface's migration job; `channels` is asked only where the job knows the variables of the service. */
export function ledgerGrantsOf(surface: string, channels: () => SurfaceChannels) {
  return ({ knowsService, ...order }: Omit<GrantsOrder, 'surface' | 'channels'> & { readonly knowsService: boolean }) =>
    ledgerGrants({ ...order, surface, channels: knowsService ? channels() : undefined });
}

function surfaceGrants({ channels, adminRole, integrates }: GrantsOrder): LedgerGrant[] {
  const operating = adminRole === undefined ? OPERATING : [];
  const integrating: LedgerGrant[] = integrates ? [{ channel: 'all', rights: ['integrate'] }] : [];
  // It may be any surface, at work already: only what belongs to others for certain is kept from it.
  if (channels === undefined) {
    return [
      { channel: 'unowned', rights: ['append', 'read', ...operating.filter((right) => right !== 'read')] },
      { channel: 'all', rights: ['integrate'] },
    ];
  }
  if (channels.kind === 'unowned') {
    const reading: LedgerRight[] = channels.reads ? ['read'] : [];
    const rights: LedgerRight[] = ['append', ...new Set([...reading, ...operating])];
    return [{ channel: 'unowned', rights }, ...integrating];
  }
  const rights: LedgerRight[] = ['append', 'read'];
  if (channels.kind === 'owned')
    return [...channels.names.map((channel) => ({ channel, rights, owns: true as const })), ...integrating];
  const shared: LedgerRight[] = [...new Set([...rights, ...operating])];
  return [...channels.names.map((channel) => ({ channel, rights: shared })), ...integrating];
}

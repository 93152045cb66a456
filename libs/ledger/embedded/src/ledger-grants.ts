import { migrationSet, type Statement } from '@sealgate/storage';

/** The schema `ledger`: tables that only its owner can access, and the functions that roles may call. */
export const ledgerMigrations = migrationSet({
  name: 'ledger',
  schema: 'ledger',
  from: import.meta.url,
  releaseCandidate: { file: '0002_append', routine: 'append_v1' },
});

/** Rights of a database role in a channel; see migrations/0001_ledger.sql. */
type LedgerRight = 'append' | 'read' | 'audit' | 'erase' | 'integrate';

interface LedgerGrant {
  /** A channel name; `all`; or `unowned`: every channel that no grant owns. */
  readonly channel: string;
  readonly rights: readonly LedgerRight[];
  /** Whether the channel is excluded from `unowned` of other roles. */
  readonly owns?: true;
}

/** The inputs of a surface's migration job. */
export interface GrantsOrder {
  /** The schema of the surface. */
  readonly surface: string;
  /** Undefined if the service uses the owner's role, which cannot be restricted. */
  readonly role: string | undefined;
  /** The role of ADMIN_DATABASE_URL. If set, the run-time role may neither audit nor erase. */
  readonly adminRole?: string | undefined;
  /** Undefined: the job does not know which channels the service uses. */
  readonly channels: SurfaceChannels | undefined;
  readonly integrates: boolean;
}

/**
 * - owned: the service appends to and reads these; only roles granted them by name share them
 * - shared: the service appends to and reads these; other surfaces may, too
 * - unowned: its channels are created at run time
 */
export type SurfaceChannels =
  | { readonly kind: 'owned' | 'shared'; readonly names: readonly string[] }
  | { readonly kind: 'unowned'; readonly reads: boolean };

const OPERATING: readonly LedgerRight[] = ['read', 'audit', 'erase'];

/** The statements that grant a surface's roles their ledger rights: the last step of its migration job. */
export function ledgerGrants(order: GrantsOrder): Statement[] {
  const { surface, role, adminRole } = order;
  const told: [role: string | undefined, surface: string, grants: readonly LedgerGrant[]][] = [
    [role, surface, surfaceGrants(order)],
    // Stored under its own name, so that one role can be both.
    [adminRole, `${surface} admin`, [{ channel: 'all', rights: OPERATING }]],
  ];
  return told.flatMap(([of, by, grants]) =>
    of === undefined
      ? []
      : [{ text: 'SELECT ledger.set_grants($1, $2, $3)', values: [of, by, JSON.stringify(grants)] }],
  );
}

/** `rights` of a surface's migration job; `channels` is called only if the job knows the variables of the service. */
export function ledgerGrantsOf(surface: string, channels: () => SurfaceChannels) {
  return ({ knowsService, ...order }: Omit<GrantsOrder, 'surface' | 'channels'> & { readonly knowsService: boolean }) =>
    ledgerGrants({ ...order, surface, channels: knowsService ? channels() : undefined });
}

function surfaceGrants({ channels, adminRole, integrates }: GrantsOrder): LedgerGrant[] {
  const operating = adminRole === undefined ? OPERATING : [];
  const integrating: LedgerGrant[] = integrates ? [{ channel: 'all', rights: ['integrate'] }] : [];
  // It may be any surface, already running: only channels owned by others are withheld.
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

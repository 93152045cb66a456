import { useSearchParams } from 'react-router';
import { useSession } from '../../shell/session.ts';

/** The surfaces with ledger routes on their admin listener; the routes are the same. */
export type LedgerSurface = 'ingest-gateway' | 'ledger-peer';

/**
 * The ledger routes of one of them. They are the same on both (libs/http), so the type of one is enough; the generated
 * types differ.
 */
export const ledgerOf = (surface: LedgerSurface) =>
  `/admin/${surface}/admin/v1/ledger` as '/admin/ingest-gateway/admin/v1/ledger';

const all: readonly LedgerSurface[] = ['ingest-gateway', 'ledger-peer'];

/** The ledger shown by a page: that of `by` in the URL, else the first configured one. */
export function useLedgerSurface(): {
  readonly surface: LedgerSurface | undefined;
  readonly others: readonly LedgerSurface[];
} {
  const [search] = useSearchParams();
  const { data } = useSession();
  const configured = all.filter((id) => data?.surfaces.some((each) => each.id === id && each.admin));
  const named = configured.find((id) => id === search.get('by'));
  const surface = named ?? configured[0];
  return { surface, others: configured.filter((id) => id !== surface) };
}

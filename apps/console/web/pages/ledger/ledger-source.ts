import { useSearchParams } from 'react-router';
import type { ingestAdmin } from '../../shell/surfaces.ts';
import { ingestAdmin as ingest, ledgerAdmin } from '../../shell/surfaces.ts';
import { useSession } from '../../shell/session.ts';

/** The surfaces with ledger routes on their admin listener; the routes are the same. */
export type LedgerSurface = 'ingest-gateway' | 'ledger-peer';

type LedgerClient = typeof ingestAdmin;

/** The client of one of them. */
export function ledgerBy(surface: LedgerSurface): LedgerClient {
  // The routes below /admin/v1/ledger are the same (libs/http), but the generated types differ.
  return surface === 'ingest-gateway' ? ingest : ledgerAdmin;
}

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

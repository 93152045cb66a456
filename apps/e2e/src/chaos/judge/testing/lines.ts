import type { Asked, Line } from '../../history.ts';
import type { Check, Verdict } from '../check.ts';
import type { Databases } from '../databases.ts';
import type { LedgerRecord } from '../ledger-records.ts';

/** A request of the gateway's sender `acme` that was answered with this text. */
export const asked = (members: Partial<Asked>): Asked => ({
  ...{ is: 'asked', surface: 'ingest-gateway', replica: 0, act: 'write', as: 'acme', target: '/acme' },
  ...{ startedMs: 0, endedMs: 1 },
  ...members,
});

/** Records come from the test; no row is asked for. */
const bare: Databases = {
  surfaces: [],
  distinct: ['ingest-gateway'],
  has: () => true,
  rows: () => Promise.reject(new Error('no database')),
  close: () => Promise.resolve(),
};

/** What a check says of these lines, numbered from 1, and records. */
export async function verdictOf(
  check: Check,
  lines: readonly Line[],
  records: readonly LedgerRecord[] = [],
): Promise<Verdict> {
  lines.forEach((line, index) => check.line?.(line, index + 1));
  for (const record of records) check.record?.(record);
  return check.close(bare);
}

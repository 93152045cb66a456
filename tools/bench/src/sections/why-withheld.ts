import { durableSettings } from '../gateway/durable-settings.ts';
import type { Machine } from '../machine.ts';
import type { RowSummary } from './summarise-row.ts';

/** A row whose records must all be in the ledger. */
export interface Ledgered extends Pick<RowSummary, 'name' | 'acknowledged'> {
  readonly inLedger: number;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * The reasons to withhold ratios of a run, as sentences; none if it is valid. A speed counts only if every acknowledged
 * write is durable and in the ledger, once, and no request was cheap because it was refused.
 */
export function whyWithheld(run: {
  rows: readonly Pick<RowSummary, 'name' | 'refused' | 'unanswered' | 'firstProblem'>[];
  ledgered: readonly Ledgered[];
  machine: Pick<Machine, 'inMemory'>;
}): string[] {
  const reasons: string[] = [];
  if (run.machine.inMemory) reasons.push('The data is in memory: nothing is durable there. Choose a disk with --data.');
  for (const { name, refused, unanswered, firstProblem } of run.rows) {
    if (refused > 0) reasons.push(`${name}: ${refused} answers were not 200.`);
    if (unanswered > 0)
      reasons.push(`${name}: ${unanswered} requests had no answer (${firstProblem ?? 'they were late'}).`);
  }
  const settings = run.ledgered.flatMap((row) => durableSettings.map((name) => `${name} is ${row.settings[name]}`));
  for (const said of new Set(settings)) if (!said.endsWith(' on')) reasons.push(`PostgreSQL: ${said}.`);
  for (const { name, inLedger, acknowledged } of run.ledgered) {
    if (inLedger !== acknowledged)
      reasons.push(`${name}: ${acknowledged} records were acknowledged, the ledger holds ${inLedger}.`);
  }
  return reasons;
}

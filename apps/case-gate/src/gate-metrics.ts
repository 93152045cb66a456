import type { Metrics } from '@sealgate/observability';
import { DENY_REASONS, FAIL_CLOSED_REASONS, type GateDecision, type GateReason } from './domain/check-entry.ts';

export interface GateMetrics {
  decided(decision: Pick<GateDecision, 'allow' | 'reason'>): void;
  /** A row is not what was written: somebody must look. */
  corrupt(): void;
  /** The ledger holds other content under an id of ours: somebody must look. */
  conflicted(): void;
  /** How many decisions wait to be written is asked at each scrape. */
  watchLog(log: { readonly waiting: number }): void;
}

export function gateMetrics(metrics: Metrics): GateMetrics {
  const reasons: GateReason[] = ['ELIGIBLE', ...FAIL_CLOSED_REASONS, ...DENY_REASONS];
  const decisions = metrics.counter({
    name: 'gate_decisions_total',
    help: 'Answers of the gate, by reason; ELIGIBLE is allow, every other is deny.',
    labels: { reason: reasons },
  });
  const byReason = new Map(reasons.map((reason) => [reason, decisions.child({ reason })]));
  const count = (name: string, help: string) => metrics.counter({ name, help, labels: {} }).child({});
  const corrupt = count('gate_corrupt_rows_total', 'Rows met that are not what was written.');
  const conflicts = count('gate_seal_conflicts_total', 'Ledger records that hold other content than ours.');
  return {
    decided: ({ reason }) => byReason.get(reason)?.inc(),
    corrupt: () => corrupt.inc(),
    conflicted: () => conflicts.inc(),
    watchLog: (log) => {
      const help = 'Decisions that wait to be written.';
      metrics.gauge({
        name: 'gate_waiting_decisions',
        aggregator: 'sum',
        help,
        labels: {},
        collect: (gauge) => gauge.set({}, log.waiting),
      });
    },
  };
}

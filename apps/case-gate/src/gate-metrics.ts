import type { Metrics } from '@sealgate/observability';
import { DENY_REASONS, FAIL_CLOSED_REASONS, type GateDecision, type GateReason } from './domain/gate-decision.ts';

export interface GateMetrics {
  readonly decided: (decision: Pick<GateDecision, 'reason_codes'>) => void;
  /** A row fails its integrity check: an operator must look. */
  corrupt(): void;
  /** The ledger holds other content under one of our ids: an operator must look. */
  conflicted(): void;
  /** Reports the number of decisions waiting to be written, read at each scrape. */
  watchLog(log: { readonly waiting: number }): void;
}

export function gateMetrics(metrics: Metrics): GateMetrics {
  const reasons: GateReason[] = ['ELIGIBLE', ...FAIL_CLOSED_REASONS, ...DENY_REASONS];
  const decisions = metrics.counter({
    name: 'gate_decisions_total',
    help: 'Gate decisions by reason; ELIGIBLE is allow, every other is deny.',
    labels: { reason: reasons },
  });
  const byReason = new Map(reasons.map((reason) => [reason, decisions.child({ reason })]));
  const count = (name: string, help: string) => metrics.counter({ name, help, labels: {} }).child({});
  const corrupt = count('gate_corrupt_rows_total', 'Rows that failed their integrity check.');
  const conflicts = count('gate_seal_conflicts_total', 'Ledger records whose content differs from ours.');
  return {
    decided: ({ reason_codes: [reason] }) => byReason.get(reason)?.inc(),
    corrupt: () => corrupt.inc(),
    conflicted: () => conflicts.inc(),
    watchLog: (log) => {
      metrics.observedGauge({
        name: 'gate_waiting_decisions',
        help: 'Decisions waiting to be written.',
        read: () => log.waiting,
      });
    },
  };
}

import type { Log, Metrics } from '@sealgate/observability';
import type { FabricObserver, FabricState } from './fabric-observer.ts';

const PHASES = ['evaluate', 'endorse', 'journal', 'submit', 'commit'] as const;
const OUTCOMES = [
  'committed',
  'refused',
  'unavailable',
  'overloaded',
  'misconfigured',
  'invalidated',
  'unknown',
] as const;
const RETRIES = ['endorse', 'evaluate', 'overload', 'conflict', 'resend', 'journal'] as const;

/** Those of Fabric's validation codes that an operator can do something about; the rest counts as `other`. */
const CODES = [
  'VALID',
  'MVCC_READ_CONFLICT',
  'PHANTOM_READ_CONFLICT',
  'ENDORSEMENT_POLICY_FAILURE',
  'DUPLICATE_TXID',
  'EXPIRED_CHAINCODE',
  'BAD_CREATOR_SIGNATURE',
  'INVALID_CHAINCODE',
] as const;

/** What the gateway client tells, as metrics and log lines. `stateOf` is asked when the gauges are scraped. */
export function fabricObserver(metrics: Metrics, log: Log, stateOf: () => FabricState): FabricObserver {
  const seconds = metrics.histogram({
    name: 'ledger_phase_duration_seconds',
    help: 'Seconds of one phase of a transaction.',
    labels: { phase: PHASES, ok: ['true', 'false'] },
  });
  const outcomes = metrics.counter({
    name: 'ledger_submits_total',
    help: 'Submits by what became of them for their caller.',
    labels: { outcome: OUTCOMES },
  });
  const codes = metrics.counter({
    name: 'ledger_validation_codes_total',
    help: 'Transactions of ours in blocks, by validation code.',
    labels: { code: [...CODES, 'other'] },
  });
  const retries = metrics.counter({
    name: 'ledger_retries_total',
    help: 'Second and further attempts, by reason.',
    labels: { reason: RETRIES },
  });
  const gauge = (name: string, help: string, read: (state: FabricState) => number, aggregator: 'sum' | 'max' = 'sum') =>
    metrics.gauge({
      name,
      help,
      aggregator,
      labels: {},
      collect: (it) => it.set({}, read(stateOf())),
    });
  gauge('ledger_gateway_calls', 'Calls under way towards a peer.', ({ calls }) => calls);
  gauge('ledger_window', 'How many calls may be under way at once.', ({ window }) => window);
  gauge('ledger_queue_length', 'Calls that wait for a place in the window.', ({ queued }) => queued);
  const ageSeconds = ({ queueAgeMs }: FabricState) => queueAgeMs / 1000;
  gauge('ledger_queue_age_seconds', 'How long the oldest of them has waited.', ageSeconds, 'max');
  gauge('ledger_unsettled_transactions', 'Transactions that are sent and not settled.', ({ unsettled }) => unsettled);
  gauge(
    'ledger_unsettled_age_seconds',
    'How long the oldest of them is under way.',
    ({ oldestUnsettledMs }) => oldestUnsettledMs / 1000,
  );
  gauge('ledger_block_streams', 'Channels whose block stream delivers now.', ({ streams }) => streams);
  return {
    phase: (phase, ok, durationMs) => seconds.observe({ phase, ok: ok ? 'true' : 'false' }, durationMs / 1000),
    outcome: (outcome) => outcomes.inc({ outcome }),
    validated: (code) => codes.inc({ code: CODES.find((known) => known === code) ?? 'other' }),
    retried: (reason) => retries.inc({ reason }),
    problem: (what, detail) => log.warn('ledger_problem', { what, detail }),
  };
}

import type { Log, Metrics } from '@sealgate/observability';

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
export type FabricOutcome = (typeof OUTCOMES)[number];

/** Hooks called by the client while it works; every label is from a closed set. Exceptions of a hook are not caught. */
export interface FabricObserver {
  /** A call ended, successfully or not. */
  phase?(phase: (typeof PHASES)[number], ok: boolean, durationMs: number): void;
  /** A submit ended for its caller. */
  outcome?(outcome: FabricOutcome): void;
  /** Fabric's validation code of a transaction of this client. */
  validated?(code: string): void;
  retried?(reason: (typeof RETRIES)[number]): void;
  /** For the log: a transient problem, or one that needs an operator. */
  problem?(what: FabricProblem, detail: string): void;
}

export type FabricProblem =
  | 'peer_away'
  | 'contract_away'
  | 'endorsers_away'
  | 'peers_behind'
  | 'misconfigured'
  | 'tls_not_reloaded'
  | 'orderers_away'
  | 'stream_lost'
  | 'identity_not_reloaded'
  | 'identity_gone'
  | 'journal_away'
  | 'transaction_refused_late'
  | 'unexpected';

/** Gauges, read when they are scraped. */
export interface FabricState {
  /** Submits and evaluations in progress to a peer. */
  readonly calls: number;
  /** Maximum of these: shrinks under overload, grows again by itself. */
  readonly window: number;
  /** Calls queued for the window, and the age of the oldest. */
  readonly queued: number;
  readonly queueAgeMs: number;
  /** Journalled, unsettled transactions. */
  readonly unsettled: number;
  readonly oldestUnsettledMs: number;
  /** Channels with a live block stream. */
  readonly streams: number;
}

/** The validation codes that an operator can act on; all others count as `other`. */
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

/** Reports the client's events as metrics and log lines. `stateOf` is called when the gauges are scraped. */
export function fabricObserver(metrics: Metrics, log: Log, stateOf: () => FabricState): FabricObserver {
  const seconds = metrics.histogram({
    name: 'ledger_phase_duration_seconds',
    help: 'Duration of a transaction phase in seconds.',
    labels: { phase: PHASES, ok: ['true', 'false'] },
  });
  const outcomes = metrics.counter({
    name: 'ledger_submits_total',
    help: 'Submits by outcome for the caller.',
    labels: { outcome: OUTCOMES },
  });
  const codes = metrics.counter({
    name: 'ledger_validation_codes_total',
    help: 'Transactions of this client in blocks, by validation code.',
    labels: { code: [...CODES, 'other'] },
  });
  const retries = metrics.counter({
    name: 'ledger_retries_total',
    help: 'Retries, by reason.',
    labels: { reason: RETRIES },
  });
  const gauge = (name: string, help: string, read: (state: FabricState) => number) =>
    metrics.observedGauge({ name, help, read: () => read(stateOf()) });
  gauge('ledger_gateway_calls', 'Calls in progress to peers.', ({ calls }) => calls);
  gauge('ledger_window', 'Maximum concurrent calls.', ({ window }) => window);
  gauge('ledger_queue_length', 'Calls queued for the window.', ({ queued }) => queued);
  const ageSeconds = ({ queueAgeMs }: FabricState) => queueAgeMs / 1000;
  gauge('ledger_queue_age_seconds', 'Age of the oldest queued call in seconds.', ageSeconds);
  gauge('ledger_unsettled_transactions', 'Transactions sent and not settled.', ({ unsettled }) => unsettled);
  gauge(
    'ledger_unsettled_age_seconds',
    'Age of the oldest unsettled transaction in seconds.',
    ({ oldestUnsettledMs }) => oldestUnsettledMs / 1000,
  );
  gauge('ledger_block_streams', 'Channels with a live block stream.', ({ streams }) => streams);
  return {
    phase: (phase, ok, durationMs) => seconds.observe({ phase, ok: ok ? 'true' : 'false' }, durationMs / 1000),
    outcome: (outcome) => outcomes.inc({ outcome }),
    validated: (code) => codes.inc({ code: CODES.find((known) => known === code) ?? 'other' }),
    retried: (reason) => retries.inc({ reason }),
    problem: (what, detail) => log.warn('ledger_problem', { what, detail }),
  };
}

export type FabricPhase = 'evaluate' | 'endorse' | 'journal' | 'submit' | 'commit';

export type FabricOutcome =
  'committed' | 'refused' | 'unavailable' | 'overloaded' | 'misconfigured' | 'invalidated' | 'unknown';

export type RetryReason = 'endorse' | 'evaluate' | 'overload' | 'conflict' | 'resend' | 'journal';

/** What the client tells while it works: every label is from a closed set. Nothing that a hook throws is caught. */
export interface FabricObserver {
  /** A call ended, well or not. */
  phase?(phase: FabricPhase, ok: boolean, durationMs: number): void;
  /** A submit ended for its caller. */
  outcome?(outcome: FabricOutcome): void;
  /** Fabric's validation code of a transaction of ours. */
  validated?(code: string): void;
  retried?(reason: RetryReason): void;
  /** For the log: something that heals by itself, or that a person must see. */
  problem?(what: FabricProblem, detail: string): void;
}

export type FabricProblem =
  | 'peer_away'
  | 'misconfigured'
  | 'tls_not_reloaded'
  | 'orderers_away'
  | 'stream_lost'
  | 'identity_not_reloaded'
  | 'journal_away'
  | 'transaction_refused_late'
  | 'unexpected';

/** Gauges, read when they are scraped. */
export interface FabricState {
  /** Submits and evaluations under way towards a peer. */
  readonly calls: number;
  /** How many of them may be: shrinks under overload, grows again by itself. */
  readonly window: number;
  /** Waiting for a place in the window, and how long the oldest has. */
  readonly queued: number;
  readonly queueAgeMs: number;
  /** Transactions that are journalled and not settled. */
  readonly unsettled: number;
  readonly oldestUnsettledMs: number;
  /** Channels whose block stream delivers now. */
  readonly streams: number;
}

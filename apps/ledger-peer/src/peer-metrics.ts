import type { Metrics } from '@sealgate/observability';
import type { SubscriptionWorker } from './data/subscription-worker.ts';
import { outcomeOf, type SyncAnswer } from './domain/answer-sync.ts';
import type { EventStreams } from './domain/event-streams.ts';
import type { AssetLedger } from './domain/asset-ledger.ts';

const OUTCOMES = [
  'committed',
  'refused',
  'failed',
  'unknown',
  'halted',
  'unavailable',
  'overloaded',
  'unsure',
  'again',
] as const;

export interface LedgerMetrics {
  /** Wraps a ledger: counts and times its calls. */
  watch(ledger: AssetLedger): AssetLedger;
}

/** Metrics of the ledger as seen by this surface. Drivers have further metrics. */
export function ledgerMetrics(metrics: Metrics): LedgerMetrics {
  const seconds = metrics.histogram({
    name: 'ledger_call_duration_seconds',
    help: 'Duration of a ledger call in seconds.',
    labels: { call: ['write', 'settle', 'read', 'prove', 'history', 'query'] },
  });
  const outcomes = metrics.counter({
    name: 'ledger_writes_total',
    help: 'Transactions by outcome.',
    labels: { outcome: OUTCOMES },
  });
  const assets = metrics.counter({
    name: 'ledger_assets_total',
    help: 'Assets in transactions by outcome.',
    labels: { outcome: OUTCOMES },
  });
  const underWay = { name: 'ledger_calls_in_flight', help: 'Ledger calls in flight.' } as const;
  const inFlight = metrics.gauge(underWay).child({});
  const byCall = {
    write: seconds.child({ call: 'write' }),
    settle: seconds.child({ call: 'settle' }),
    read: seconds.child({ call: 'read' }),
    prove: seconds.child({ call: 'prove' }),
    history: seconds.child({ call: 'history' }),
    query: seconds.child({ call: 'query' }),
  };
  for (const outcome of OUTCOMES) outcomes.child({ outcome });

  const timed = async <Value>(call: keyof typeof byCall, work: () => Promise<Value>): Promise<Value> => {
    const startedMs = performance.now();
    inFlight.inc();
    try {
      return await work();
    } finally {
      inFlight.dec();
      byCall[call].observe((performance.now() - startedMs) / 1000);
    }
  };
  const watch = ({ prove, history, ...ledger }: AssetLedger): AssetLedger => ({
    ...(prove === undefined
      ? {}
      : { prove: (...asked: Parameters<typeof prove>) => timed('prove', () => prove(...asked)) }),
    ...(history === undefined
      ? {}
      : { history: (...asked: Parameters<typeof history>) => timed('history', () => history(...asked)) }),
    as: (identity) => watch(ledger.as(identity)),
    takesMany: (target) => ledger.takesMany(target),
    async write(target, sent, from) {
      const result = await timed('write', () => ledger.write(target, sent, from));
      outcomes.inc({ outcome: result.outcome });
      assets.inc({ outcome: result.outcome }, sent.length);
      return result;
    },
    async settle(target, sent, transactionId) {
      const result = await timed('settle', () => ledger.settle(target, sent, transactionId));
      outcomes.inc({ outcome: result.outcome });
      return result;
    },
    recall: (jobId, parts) => ledger.recall(jobId, parts),
    read: (target, id) => timed('read', () => ledger.read(target, id)),
    query: (target, query) => timed('query', () => ledger.query(target, query)),
  });
  return { watch };
}

/** Metrics of the responses to writes. */
export function answerMetrics(metrics: Metrics): (answer: Pick<SyncAnswer, 'status' | 'isAsync' | 'replayed'>) => void {
  const answers = metrics.counter({
    name: 'peer_writes_answered_total',
    help: 'Writes answered with 2xx: done, pending, queued (respond-async), or repeated.',
    labels: { answer: ['done', 'pending', 'queued', 'replayed'] },
  });
  for (const answer of ['done', 'pending', 'queued', 'replayed'] as const) answers.child({ answer });
  return (answer) => answers.inc({ answer: outcomeOf(answer) });
}

/** Number of running jobs of this process. */
export function jobMetrics(metrics: Metrics, worker: { readonly running: number }): void {
  metrics.observedGauge({
    name: 'peer_jobs_running',
    help: 'Jobs running in this process.',
    read: () => worker.running,
  });
}

/** Streams of events of this process, and how far they are behind the ledger. */
export function eventMetrics(metrics: Metrics, streams: Pick<EventStreams, 'size' | 'lag'>): void {
  metrics.observedGauge({
    name: 'peer_event_streams',
    help: 'Open streams of events.',
    read: () => streams.size,
  });
  metrics.observedGauge({
    name: 'peer_event_lag_blocks',
    help: 'Blocks that the stream furthest behind has not read; records on the embedded ledger.',
    read: () => streams.lag.blocks,
  });
  metrics.observedGauge({
    name: 'peer_event_lag_seconds',
    help: 'How long it has been behind.',
    read: () => streams.lag.seconds,
  });
}

const SUBSCRIPTION_STATES = ['active', 'failing', 'paused', 'stopped'] as const;

/** Subscriptions of all processes by state, and attempts and failed reads of this one. */
export function subscriptionMetrics(
  metrics: Metrics,
  workerOf: () => Pick<SubscriptionWorker, 'counts' | 'unreadSeconds'>,
): { onAttempt(outcome: 'delivered' | 'failed'): void } {
  metrics.gauge({
    name: 'peer_subscriptions',
    help: 'Subscriptions by state; failing: the newest attempt failed; stopped: nothing was acknowledged for 72 hours.',
    labels: { state: SUBSCRIPTION_STATES },
    collect(gauge) {
      for (const state of SUBSCRIPTION_STATES) gauge.set({ state }, workerOf().counts[state]);
    },
  });
  metrics.observedGauge({
    name: 'peer_subscription_unread_seconds',
    help: 'How long the events of a subscription that this process delivers could not be read; the longest, 0 if all are.',
    read: () => workerOf().unreadSeconds,
  });
  const attempts = metrics.counter({
    name: 'peer_subscription_attempts_total',
    help: 'Attempts to deliver an event to its receiver.',
    labels: { outcome: ['delivered', 'failed'] },
  });
  return { onAttempt: (outcome) => attempts.inc({ outcome }) };
}

import type { Metrics } from '@sealgate/observability';
import type { AssetLedger } from './domain/asset-ledger.ts';

const OUTCOMES = ['committed', 'refused', 'failed', 'unknown', 'halted', 'unavailable', 'overloaded', 'again'] as const;

export interface LedgerMetrics {
  /** The same ledger, each of whose calls is counted and timed. */
  watch(ledger: AssetLedger): AssetLedger;
}

/** How the ledger is doing, as this surface meets it. What a driver knows besides, it counts itself. */
export function ledgerMetrics(metrics: Metrics): LedgerMetrics {
  const seconds = metrics.histogram({
    name: 'ledger_call_duration_seconds',
    help: 'Seconds of a call of the ledger, from asking to knowing.',
    labels: { call: ['write', 'settle', 'read', 'query'] },
  });
  const outcomes = metrics.counter({
    name: 'ledger_writes_total',
    help: 'Transactions by what became of them.',
    labels: { outcome: OUTCOMES },
  });
  const assets = metrics.counter({
    name: 'ledger_assets_total',
    help: 'Assets in transactions by what became of them.',
    labels: { outcome: OUTCOMES },
  });
  const underWay = { name: 'ledger_calls_in_flight', help: 'Calls under way.', aggregator: 'sum' } as const;
  const inFlight = metrics.gauge(underWay).child({});
  const byCall = {
    write: seconds.child({ call: 'write' }),
    settle: seconds.child({ call: 'settle' }),
    read: seconds.child({ call: 'read' }),
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
  return {
    watch: (ledger) => ({
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
      read: (target, id) => timed('read', () => ledger.read(target, id)),
      query: (target, query) => timed('query', () => ledger.query(target, query)),
    }),
  };
}

export interface AnswerMetrics {
  readonly answered: (answer: {
    readonly status: number;
    readonly isAsync: boolean;
    readonly replayed: boolean;
  }) => void;
}

/** What writes were answered with. */
export function answerMetrics(metrics: Metrics): AnswerMetrics {
  const answers = metrics.counter({
    name: 'peer_writes_answered_total',
    help: 'Writes answered with a 2xx: done, pending, queued for a sender that does not wait, or answered before.',
    labels: { answer: ['done', 'pending', 'queued', 'replayed'] },
  });
  for (const answer of ['done', 'pending', 'queued', 'replayed'] as const) answers.child({ answer });
  return {
    answered({ status, isAsync, replayed }) {
      const answer = replayed ? 'replayed' : isAsync ? 'queued' : status === 202 ? 'pending' : 'done';
      answers.inc({ answer });
    },
  };
}

/** How many jobs this process runs. */
export function jobMetrics(metrics: Metrics, worker: { readonly running: number }): void {
  const gauge = { name: 'peer_jobs_running', help: 'Jobs that this process has in hand.', labels: {} };
  metrics.gauge({ ...gauge, aggregator: 'sum', collect: (running) => running.set({}, worker.running) });
}

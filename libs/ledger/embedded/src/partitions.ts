import type { Log, Metrics } from '@sealgate/observability';
import { backgroundLoop, DatabaseUnavailableError, type Sql } from '@sealgate/storage';

interface MadeRow {
  ahead: number;
  wanted: number;
}

/** How often is looked whether a partition is missing: at 10,000 records a second that is a twentieth of one. */
const EVERY_MS = 5000;
const FIRST_RETRY_MS = 100;
/** Fewer than that are told: the next million records of the longest channel are sure of their place, what follows is not. */
const FEW = 2;

/**
 * Makes partitions of `ledger.records` ahead of the longest channel, in every process that has the ledger open: no write
 * ever makes one or waits for one (see migrations/0008_partitions.sql). Returns what stops it.
 */
export function keepPartitionsAhead(
  sql: Sql,
  { log, metrics, everyMs = EVERY_MS }: { log: Log; metrics: Metrics; everyMs?: number },
): () => Promise<void> {
  let ahead: number | undefined;
  let told: string | undefined;
  let retryMs = FIRST_RETRY_MS;
  let pauseMs = everyMs;

  const help = 'Partitions of ledger.records ahead of the one that the longest channel writes to.';
  metrics.gauge({
    name: 'ledger_partitions_ahead',
    aggregator: 'min',
    help,
    labels: {},
    collect: (gauge) => ahead !== undefined && gauge.set({}, ahead),
  });
  /** Once for each thing that is wrong, and not at each attempt. */
  const tell = (problem: string | undefined, level: 'warn' | 'error' = 'warn') => {
    if (problem !== undefined && problem !== told) log[level]('partitions_behind', { ahead, reason: problem });
    if (problem === undefined && told !== undefined) log.warn('partitions_made', { ahead });
    told = problem;
  };
  const loop = backgroundLoop({
    async work() {
      pauseMs = everyMs;
      const made = await makePartitions(sql);
      ahead = made.ahead;
      if (ahead >= made.wanted) {
        retryMs = FIRST_RETRY_MS;
        return tell(undefined);
      }
      if (ahead < FEW) tell('another transaction holds ledger.records', 'error');
      pauseMs = retryMs = Math.min(retryMs * 2, everyMs);
    },
    pauseMs: () => pauseMs,
    // Readiness tells of a database that is away.
    onFailure: (error) => error instanceof DatabaseUnavailableError || tell(String(error)),
  });
  return () => loop.stop();
}

/** One attempt: how many are ahead now, and how many should be. */
export async function makePartitions(sql: Sql): Promise<MadeRow> {
  const [made] = await sql.query<MadeRow>({ text: 'SELECT ahead, wanted FROM ledger.make_partitions_v1()' });
  return made!;
}

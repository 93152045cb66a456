import type { Log, Metrics } from '@sealgate/observability';
import { backgroundLoop, DatabaseUnavailableError, type Sql } from '@sealgate/storage';

interface MadeRow {
  ahead: number;
  wanted: number;
}

/** At 10,000 records a second this interval is a twentieth of a partition. */
const EVERY_MS = 5000;
const FIRST_RETRY_MS = 100;
/** Fewer are reported: the next million records of the longest channel still have a partition, later ones may not. */
const FEW = 2;

/**
 * Keeps partitions of `ledger.records` created ahead of the longest channel, in every process that opens the ledger, so
 * that no write ever creates or waits for one (see migrations/0001_ledger.sql). Returns the function that stops it.
 */
export function keepPartitionsAhead(
  sql: Sql,
  { log, metrics, everyMs = EVERY_MS }: { log: Log; metrics: Metrics; everyMs?: number },
): () => Promise<void> {
  let ahead: number | undefined;
  let reported: string | undefined;
  let retryMs = FIRST_RETRY_MS;
  let pauseMs = everyMs;

  metrics.observedGauge({
    name: 'ledger_partitions_ahead',
    help: 'Partitions of ledger.records ahead of the one that the longest channel writes to.',
    read: () => ahead,
  });
  /** Logs each problem once, not at every attempt. */
  const report = (problem: string | undefined, level: 'warn' | 'error' = 'warn') => {
    if (problem !== undefined && problem !== reported) log[level]('partitions_behind', { ahead, reason: problem });
    if (problem === undefined && reported !== undefined) log.warn('partitions_made', { ahead });
    reported = problem;
  };
  const loop = backgroundLoop({
    async work() {
      pauseMs = everyMs;
      const made = await makePartitions(sql);
      ahead = made.ahead;
      if (ahead >= made.wanted) {
        retryMs = FIRST_RETRY_MS;
        return report(undefined);
      }
      if (ahead < FEW) report('another transaction holds ledger.records', 'error');
      pauseMs = retryMs = Math.min(retryMs * 2, everyMs);
    },
    pauseMs: () => pauseMs,
    // Readiness reports database outages.
    onFailure: (error) => error instanceof DatabaseUnavailableError || report(String(error)),
  });
  return () => loop.stop();
}

/** One attempt. Returns the numbers of partitions ahead and wanted. */
export async function makePartitions(sql: Sql): Promise<MadeRow> {
  const [made] = await sql.query<MadeRow>({ text: 'SELECT ahead, wanted FROM ledger.make_partitions()' });
  return made!;
}

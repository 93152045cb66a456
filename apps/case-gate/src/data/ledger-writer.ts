import type { LedgerAppender } from '@sealgate/ledger-port';
import type { Log } from '@sealgate/observability';
import type { Database, Sql } from '@sealgate/storage';
import type { KeyedHasher } from '@sealgate/auth';
import type { OutboxRecord } from '../domain/case-transaction.ts';
import { ledgerRecordId, seenName, type VersionedRecord } from '../domain/versioned-record.ts';
import { ledgerUnit, type LedgerTarget } from '../domain/seal-case.ts';
import type { SeenVersions } from './ledger-versions.ts';

/**
 * When a version must be in the ledger: before the change is answered, or soon. 'later' is for versions that change
 * nothing: a transaction that read the previous row has asked the ledger by then.
 */
export type Urgency = 'before the answer' | 'soon' | 'later';

/** Statements of one transaction, and the versions that it writes. */
export interface RecordingSql extends Sql {
  /** Adds a version to the outbox. An urgent one is also written to the ledger right after the commit. */
  enter(record: VersionedRecord, urgency: Urgency): Promise<void>;
}

export type RecordingTransactions = <Result>(
  work: (sql: RecordingSql) => Promise<Result>,
  options?: { readonly deadlineMs: number },
) => Promise<Result>;

interface LedgerWriterOptions {
  readonly sql: Database;
  readonly ledger: Pick<LedgerAppender, 'append'>;
  readonly target: LedgerTarget;
  readonly recordIds: KeyedHasher;
  readonly seen: SeenVersions;
  /** Called with the id of a record that holds other content. */
  readonly onConflict: (recordId: string) => void;
  readonly log: Log;
  /** Calls back after `ms`, unless the returned function is called first. */
  readonly startTimer: (done: () => void, ms: number) => () => void;
}

/** Maximum wait of an answer for the ledger. */
const ANSWER_WITHIN_MS = 1000;
/** Longer than any ledger question of the gate. */
const LATER_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const DUE_IN_MS = { 'before the answer': ANSWER_WITHIN_MS, soon: 0, later: LATER_MS } as const;
/** Maximum versions that one process writes itself; the outbox takes the rest. */
const MAX_PENDING = 1000;

/**
 * Transactions whose versions are in the ledger before the answer, if the ledger answers within a second. If not, the
 * row is effective anyway, and both this process, from memory, and the outbox keep trying: deleting the outbox entry
 * does not stop it.
 */
export function ledgerWriter(options: LedgerWriterOptions): {
  readonly inTransaction: RecordingTransactions;
  readonly stop: () => void;
} {
  const { sql: database, seen, recordIds, startTimer } = options;
  const timers = new Set<() => void>();
  let pending = 0;
  let isStopped = false;

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = startTimer(() => {
        timers.delete(cancel);
        resolve();
      }, ms);
      timers.add(cancel);
    });

  /** Retries until the ledger has the record. Never rejects. */
  const write = async (record: OutboxRecord): Promise<void> => {
    for (let pauseMs = FIRST_PAUSE_MS; !isStopped; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const error = await writeOnce(options, record);
      if (error === undefined) return;
      options.log.warn('ledger_write_delayed', { recordId: record.recordId, reason: String(error) });
      await pause(pauseMs);
    }
  };

  const writeAll = async (records: readonly OutboxRecord[]): Promise<void> => {
    if (records.length === 0 || pending + records.length > MAX_PENDING) return;
    pending += records.length;
    const all = Promise.all(records.map((record) => write(record).finally(() => (pending -= 1))));
    await new Promise<void>((resolve) => {
      const cancel = startTimer(resolve, ANSWER_WITHIN_MS);
      void all.then(() => {
        cancel();
        resolve();
      });
    });
  };

  return {
    async inTransaction(work, transactionOptions) {
      const entered: VersionedRecord[] = [];
      const urgent: OutboxRecord[] = [];
      const result = await database.transaction((sql) => {
        const enter = async (record: VersionedRecord, urgency: Urgency): Promise<void> => {
          const isUrgent = urgency === 'before the answer';
          const { type: recordType, data, name, version } = record;
          const recordId = ledgerRecordId(recordIds, [...name, String(version)]);
          const row = { recordId, recordType, data };
          // The worker skips it while this process is about to write it.
          await addToOutbox(sql, row, DUE_IN_MS[urgency]);
          entered.push(record);
          if (isUrgent) urgent.push(row);
        };
        return work({ query: (statement, queryOptions) => sql.query(statement, queryOptions), enter });
      }, transactionOptions);
      // Note own versions as seen, so that a rollback of the row is detected from the first check on.
      for (const { name, version } of entered) seen.see(seenName(name), version);
      await writeAll(urgent);
      return result;
    },
    stop() {
      isStopped = true;
      for (const cancel of timers) cancel();
    },
  };
}

/** Undefined once the ledger has answered; else the error. */
async function writeOnce({ ledger, target, sql, onConflict }: LedgerWriterOptions, record: OutboxRecord) {
  const { recordId } = record;
  try {
    const { outcome } = await ledger.append(ledgerUnit(target, record));
    if (outcome === 'conflict' || outcome === 'reused') onConflict(recordId);
  } catch (error) {
    return error as Error;
  }
  // Where this fails the worker sends the record again, which has no effect.
  await sql.query({ text: 'DELETE FROM gate.outbox WHERE record_id = $1', values: [recordId] }).catch(() => undefined);
  return undefined;
}

/** Due by the clock of the database, which all processes share: their own may be minutes off. */
export async function addToOutbox(
  sql: Sql,
  { recordId, recordType, data }: OutboxRecord,
  dueInMs: number,
): Promise<void> {
  await sql.query({
    text: `INSERT INTO gate.outbox (record_id, record_type, data, next_attempt_at)
           VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
           ON CONFLICT (record_id) DO UPDATE SET record_type = EXCLUDED.record_type, data = EXCLUDED.data`,
    values: [recordId, recordType, data, dueInMs / 1000],
  });
}

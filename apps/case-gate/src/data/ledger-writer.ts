import type { LedgerAppender } from '@sealgate/ledger-port';
import type { Log } from '@sealgate/observability';
import type { Database, Sql } from '@sealgate/storage';
import type { KeyedHasher } from '@sealgate/auth';
import type { OutboxRecord } from '../domain/case-transaction.ts';
import { ledgerRecordId, seenName, type VersionedRecord } from '../domain/versioned-record.ts';
import { ledgerUnit, type LedgerTarget } from '../domain/seal-case.ts';
import type { SeenVersions } from './seen-versions.ts';

/**
 * When a version has to be in the ledger: before the change is answered, or soon. What changes nothing comes later: whoever
 * has read the row of before has also asked the ledger by then.
 */
export type Urgency = 'before the answer' | 'soon' | 'later';

/** The statements of one transaction, and the versions that it makes. */
export interface RecordingSql extends Sql {
  /** Enters a version into the outbox, and where it is urgent has it written as soon as the transaction is committed. */
  enter(record: VersionedRecord, urgency: Urgency): Promise<void>;
}

export type RecordingTransactions = <Result>(
  work: (sql: RecordingSql) => Promise<Result>,
  options?: { readonly deadlineMs: number },
) => Promise<Result>;

export interface LedgerWriterOptions {
  readonly sql: Database;
  readonly ledger: Pick<LedgerAppender, 'append'>;
  readonly target: LedgerTarget;
  readonly recordIds: KeyedHasher;
  readonly seen: SeenVersions;
  /** Told of a record id that holds other content. */
  readonly onConflict: (recordId: string) => void;
  readonly log: Log;
  /** Milliseconds since the epoch, whole. */
  readonly now: () => number;
  /** Calls back after so many milliseconds, unless what it returns is called before. */
  readonly startTimer: (done: () => void, ms: number) => () => void;
}

/** How long an answer waits for the ledger. */
const ANSWER_WITHIN_MS = 1000;
/** Longer than any question to the gate. */
const LATER_MS = 10_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const DUE_IN_MS = { 'before the answer': ANSWER_WITHIN_MS, soon: 0, later: LATER_MS } as const;
/** Versions that one process goes on with by itself; past it they are left to the outbox. */
const MOST_PENDING = 1000;

/**
 * Transactions whose versions are in the ledger before they are answered, where the ledger answers within a second. Where it
 * does not, the change acts by its row all the same, and both this process, from memory, and the outbox go on with it:
 * taking the row out of the outbox does not stop it.
 */
export function ledgerWriter(options: LedgerWriterOptions): {
  readonly inTransaction: RecordingTransactions;
  readonly stop: () => void;
} {
  const { sql: database, seen, recordIds, now, startTimer } = options;
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

  /** Until the ledger has it. Never rejects. */
  const write = async (record: OutboxRecord): Promise<void> => {
    for (let pauseMs = FIRST_PAUSE_MS; !isStopped; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const error = await writeOnce(options, record);
      if (error === undefined) return;
      options.log.warn('ledger_write_delayed', { recordId: record.recordId, reason: String(error) });
      await pause(pauseMs);
    }
  };

  const writeAll = async (records: readonly OutboxRecord[]): Promise<void> => {
    if (records.length === 0 || pending + records.length > MOST_PENDING) return;
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
          // The worker leaves it alone for as long as this process is about to write it.
          const dueMs = now() + DUE_IN_MS[urgency];
          const { type: recordType, data, name, version } = record;
          const recordId = ledgerRecordId(recordIds, [...name, String(version)]);
          const row = { recordId, recordType, data, nextAttemptAt: new Date(dueMs) };
          await addToOutbox(sql, row);
          entered.push(record);
          if (isUrgent) urgent.push(row);
        };
        return work({ query: (statement, queryOptions) => sql.query(statement, queryOptions), enter });
      }, transactionOptions);
      // What this process wrote it has seen: nobody can put an older row back under it before the first check.
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

/** Undefined once the ledger has answered for it; else what it failed with. */
async function writeOnce({ ledger, target, sql, onConflict }: LedgerWriterOptions, record: OutboxRecord) {
  const { recordId } = record;
  try {
    const { outcome } = await ledger.append(ledgerUnit(target, record));
    if (outcome === 'conflict' || outcome === 'reused') onConflict(recordId);
  } catch (error) {
    return error as Error;
  }
  // Where this fails the worker sends it again, which is nothing new to the ledger.
  await sql.query({ text: 'DELETE FROM gate.outbox WHERE record_id = $1', values: [recordId] }).catch(() => undefined);
  return undefined;
}

export async function addToOutbox(
  sql: Sql,
  { recordId, recordType, data, nextAttemptAt }: OutboxRecord,
): Promise<void> {
  await sql.query({
    text: `INSERT INTO gate.outbox (record_id, record_type, data, next_attempt_at) VALUES ($1, $2, $3, $4)
           ON CONFLICT (record_id) DO UPDATE SET record_type = EXCLUDED.record_type, data = EXCLUDED.data`,
    values: [recordId, recordType, data, nextAttemptAt],
  });
}

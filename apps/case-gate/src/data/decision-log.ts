import type { KeyedHasher } from '@sealgate/auth';
import {
  DECISION_HEAD_TYPE,
  decisionHash,
  decisionHeadText,
  type ChainedDecision,
  type DroppedDecisions,
} from '@sealgate/envelope';
import type { Log } from '@sealgate/observability';
import { confirmRows, int4Array, int8Array, textArray, type Sql } from '@sealgate/storage';
import type { OutboxRecord } from '../domain/case-transaction.ts';
import type { CheckPorts, GateRequester } from '../domain/check-entry.ts';
import type { GateDecision } from '../domain/gate-decision.ts';

export interface DecisionLog extends Pick<CheckPorts, 'nextDecision' | 'record'> {
  /** Number of decisions waiting to be written. */
  readonly waiting: number;
  /** Writes the queued decisions, as far as the database allows. */
  flush(): Promise<void>;
  /**
   * Passes the next head of the chain, which says how far the log was written, to `keepHead`. Does nothing if no
   * decision was made since the last head. A head that could not be kept is passed again, unchanged, by the next call.
   */
  readonly seal: () => Promise<void>;
  /**
   * Writes the queued decisions and the last head of this process, as far as the database allows; a log line names
   * decisions that it does not take. Call it last.
   */
  end(): Promise<void>;
}

/** A head to keep. The text for a sequence number never changes. */
export interface KeptHead {
  readonly process: string;
  readonly number: number;
  readonly text: string;
}

interface DecisionLogOptions {
  readonly sql: Sql;
  /** Unique name of this process. */
  readonly process: string;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * Stores a head so that it is written to the ledger once, whatever crashes. May be called again with the same head.
   */
  readonly keepHead: (head: KeptHead) => Promise<void>;
  readonly maxWaiting?: number;
  readonly everyMs?: number;
}

interface Entry {
  readonly decision: GateDecision;
  readonly requester: GateRequester;
}

/** A decision with its hash. */
interface Link {
  readonly row: ChainedDecision;
  readonly hash: string;
}

const MAX_WAITING = 50_000;
const MAX_AT_ONCE = 1000;
const EVERY_MS = 100;
const RETRY_MS = 1000;
const WRITE_WITHIN_MS = 2000;

/**
 * The log of gate decisions, written in batches off the request path, each with its hash in the chain of this process.
 * Retries failed writes. Past `maxWaiting` the oldest decisions are dropped; a log line names them by process and
 * sequence number, and so does the next head, since the chain covers them. Never throws into a check or delays one.
 */
export function decisionLog(options: DecisionLogOptions): DecisionLog {
  const { sql, process, log, maxWaiting = MAX_WAITING, everyMs = EVERY_MS } = options;
  const chain = decisionChain(options);
  const waiting: Entry[] = [];
  /** The decisions being written or retried. */
  let batch: readonly Link[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let made = 0;
  /** Whether rows of the batch may exist, because the answer to an insert was lost. */
  let mayBeThere = false;

  const schedule = (ms: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void run();
    }, ms);
  };
  const write = async (): Promise<void> => {
    for (;;) {
      if (batch.length === 0) batch = chain.links(waiting.splice(0, MAX_AT_ONCE));
      if (batch.length === 0) return;
      await insert(sql, process, { batch, mayBeThere });
      mayBeThere = false;
      chain.written(batch.at(-1)!);
      batch = [];
    }
  };
  const run = (): Promise<void> => {
    running ??= write()
      .catch((error: unknown) => {
        mayBeThere = true;
        log.warn('decisions_not_written', { waiting: waiting.length + batch.length, reason: String(error) });
        schedule(RETRY_MS);
      })
      .finally(() => {
        running = undefined;
        if (waiting.length > 0) schedule(RETRY_MS);
      });
    return running;
  };
  const flush = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    await running;
    await run();
    clearTimeout(timer);
    // Else no later decision would start one.
    timer = undefined;
  };
  /** Names those that a process which ends has not written: no head will. */
  const tellUnwritten = (): void => {
    const first = batch[0]?.row.seq ?? waiting[0]?.decision.seq;
    if (first !== undefined) log.error('decisions_dropped', { process, first, last: made });
  };
  return {
    get waiting() {
      return waiting.length + batch.length;
    },
    nextDecision() {
      made += 1;
      return { seq: made, decision_id: `gd_${process}_${String(made).padStart(10, '0')}` };
    },
    record(decision, requester) {
      if (waiting.length + batch.length >= maxWaiting) {
        // The batch is kept: whether it was written may be unknown.
        const dropped = chain.drop(waiting.splice(0, MAX_AT_ONCE));
        log.error('decisions_dropped', { process, first: dropped.first_seq, last: dropped.last_seq });
      }
      waiting.push({ decision, requester });
      schedule(everyMs);
    },
    flush,
    seal: () => chain.seal(false),
    async end() {
      await flush();
      if (batch.length > 0 || waiting.length > 0) return tellUnwritten();
      const onFailure = (error: unknown) => log.warn('decision_heads_failed', { process, reason: String(error) });
      await chain.seal(true).catch(onFailure);
    },
  };
}

/**
 * The chain of one process, and its heads. A head covers only decisions that are in the table or were dropped, so after
 * a crash no head names a decision without a row.
 */
function decisionChain({ process, now, keepHead }: DecisionLogOptions) {
  let linked: { readonly seq: number; readonly hash: string | null } = { seq: 0, hash: null };
  let written = linked;
  let sealed = { number: 0, ...linked };
  let dropped: DroppedDecisions[] = [];
  let pending: { readonly head: KeptHead; readonly seq: number; readonly hash: string | null } | undefined;
  let isEnded = false;

  const link = (entry: Entry): Link => {
    const row = rowOf(entry, process);
    const hash = decisionHash(row, linked.hash);
    linked = { seq: row.seq, hash };
    return { row, hash };
  };
  const next = (ended: boolean): typeof pending => {
    if (isEnded || (written.seq === sealed.seq && !(ended && sealed.number > 0))) return undefined;
    const number = sealed.number + 1;
    const head = {
      v: 1 as const,
      process,
      number,
      first_seq: sealed.seq + 1,
      last_seq: written.seq,
      prev_hash: sealed.hash,
      hash: written.hash,
      dropped: dropped.filter(({ last_seq: last }) => last <= written.seq),
      at: new Date(now()).toISOString(),
      ended,
    };
    isEnded = ended;
    return { head: { process, number, text: decisionHeadText(head) }, ...written };
  };
  const keep = async (ended: boolean): Promise<void> => {
    pending ??= next(ended);
    if (pending === undefined) return;
    const { head, seq, hash } = pending;
    await keepHead(head);
    sealed = { number: head.number, seq, hash };
    dropped = dropped.filter(({ last_seq: last }) => last > seq);
    pending = undefined;
  };
  return {
    links: (entries: readonly Entry[]): Link[] => entries.map(link),
    /** Records dropped decisions for the next head, together with those dropped before. */
    drop(entries: readonly Entry[]): DroppedDecisions {
      const before = linked.seq;
      for (const entry of entries) link(entry);
      const last = dropped.at(-1);
      const gap = { first_seq: before + 1, last_seq: linked.seq, hash: linked.hash ?? '' };
      if (last?.last_seq === before) dropped[dropped.length - 1] = { ...gap, first_seq: last.first_seq };
      else dropped.push(gap);
      return gap;
    },
    written: ({ row, hash }: Link): void => {
      written = { seq: row.seq, hash };
    },
    async seal(ended: boolean): Promise<void> {
      // A pending head is passed first, unchanged.
      if (pending !== undefined) await keep(false);
      await keep(ended);
    },
  };
}

/** Hex digits of the keyed hash in the id of a head, so that nobody can predict and occupy the id. */
const UNGUESSABLE_DIGITS = 32;

/** The ledger record of a head. Ids sort by process and sequence number; the same head has the same id. */
export function headRecord(recordIds: KeyedHasher, head: KeptHead): OutboxRecord {
  const number = String(head.number).padStart(10, '0');
  const made = recordIds.hash('decision head', head.process, number).digest.toString('hex');
  const recordId = `decisions_${head.process}_${number}_${made.slice(0, UNGUESSABLE_DIGITS)}`;
  return { recordId, recordType: DECISION_HEAD_TYPE, data: head.text };
}

/** The logged columns of a decision, and some that no log holds. */
function rowOf({ decision, requester }: Entry, process: string): ChainedDecision {
  return {
    ...decision,
    process,
    action: loggable(decision.action) ?? '',
    subject_ref: loggable(decision.subject_ref),
    venue_id: loggable(decision.venue_id),
    key_id: requester.keyId,
    request_id: requester.requestId,
  };
}

/** ON CONFLICT costs a fifth of an insert, so it is used only where rows may exist. */
async function insert(
  sql: Sql,
  process: string,
  { batch, mayBeThere }: { readonly batch: readonly Link[]; readonly mayBeThere: boolean },
): Promise<void> {
  const texts = (of: (row: ChainedDecision) => string | null) => textArray(batch.map(({ row }) => of(row)));
  await sql.query(
    {
      name: mayBeThere ? 'gate decisions again' : 'gate decisions',
      text: `INSERT INTO gate.gate_decisions (process, decision_id, seq, environment, key_id, request_id, subject_ref, venue_id,
               action, decision, reason_code, fail_closed, policy_version, ledger_record_id, record_version, evaluated_at, hash)
             SELECT $1, id, seq, environment, key_id, request_id, subject_ref, venue_id, action, decision, reason_code,
                    fail_closed = 1, policy_version, ledger_record_id, record_version, to_timestamp(evaluated_ms / 1000.0::float8),
                    decode(hash, 'hex')
               FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                           $10::text[], $11::text[], $12::integer[], $13::text[], $14::text[], $15::bigint[], $16::bigint[],
                           $17::text[])
                    d (id, seq, environment, key_id, request_id, subject_ref, venue_id, action, decision,
                       reason_code, fail_closed, policy_version, ledger_record_id, record_version, evaluated_ms, hash)
             ${mayBeThere ? 'ON CONFLICT DO NOTHING' : ''}`,
      values: [
        process,
        texts((row) => row.decision_id),
        int8Array(batch.map(({ row }) => row.seq)),
        texts((row) => row.environment),
        texts((row) => row.key_id),
        texts((row) => row.request_id),
        texts((row) => row.subject_ref),
        texts((row) => row.venue_id),
        texts((row) => row.action),
        texts((row) => row.decision),
        texts((row) => row.reason_codes[0]!),
        int4Array(batch.map(({ row }) => (row.fail_closed ? 1 : 0))),
        texts((row) => row.policy_version),
        texts((row) => row.ledger_record_id),
        int8Array(batch.map(({ row }) => row.record_version)),
        int8Array(batch.map(({ row }) => Date.parse(row.evaluated_at))),
        textArray(batch.map(({ hash }) => hash)),
      ],
    },
    { deadlineMs: WRITE_WITHIN_MS },
  );
  // Those that were there are perhaps not on the standby yet.
  if (mayBeThere) await confirmRows(sql, { deadlineMs: WRITE_WITHIN_MS });
}

/** Null for a malformed id: a client may have sent anything there. */
function loggable(text: string): string | null {
  return /^[A-Za-z0-9_-]{1,80}$/.test(text) ? text : null;
}

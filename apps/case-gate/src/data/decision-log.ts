import type { Log } from '@sealgate/observability';
import { int4Array, int8Array, textArray, type Sql } from '@sealgate/storage';
import type { CheckPorts, GateAsker, GateDecision } from '../domain/check-entry.ts';

export interface DecisionLog extends Pick<CheckPorts, 'nextDecision' | 'record'> {
  /** Decisions that wait to be written. */
  readonly waiting: number;
  /** Writes what waits, as far as the database lets it. */
  flush(): Promise<void>;
}

export interface DecisionLogOptions {
  readonly sql: Sql;
  /** Names this process; no other has the name. */
  readonly process: string;
  readonly log: Log;
  readonly mostWaiting?: number;
  readonly everyMs?: number;
}

interface Entry {
  readonly decision: GateDecision;
  readonly asker: GateAsker;
}

const MOST_WAITING = 50_000;
const MOST_AT_ONCE = 1000;
const EVERY_MS = 100;
const RETRY_MS = 1000;
const WRITE_WITHIN_MS = 2000;

/**
 * The gate's decisions, written together off the path. A write that fails is tried again; past `mostWaiting` the oldest
 * are dropped, and a line names them by process and number. It never throws into a check, and never waits for one.
 */
export function decisionLog(options: DecisionLogOptions): DecisionLog {
  const { sql, process, log, mostWaiting = MOST_WAITING, everyMs = EVERY_MS } = options;
  let waiting: Entry[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let made = 0;
  /** Whether some of what waits may be written: its answer was lost. */
  let mayBeThere = false;

  const schedule = (ms: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void run();
    }, ms);
  };
  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST_AT_ONCE);
      await insert(sql, process, { batch, mayBeThere });
      mayBeThere = false;
      // The oldest may have been dropped meanwhile: what was written is what goes.
      const last = batch.at(-1)!.decision.seq;
      waiting = waiting.filter(({ decision }) => decision.seq > last);
    }
  };
  const run = (): Promise<void> => {
    running ??= write()
      .catch((error: unknown) => {
        mayBeThere = true;
        log.warn('decisions_not_written', { waiting: waiting.length, reason: String(error) });
        schedule(RETRY_MS);
      })
      .finally(() => {
        running = undefined;
        if (waiting.length > 0) schedule(RETRY_MS);
      });
    return running;
  };
  return {
    get waiting() {
      return waiting.length;
    },
    nextDecision() {
      made += 1;
      return { seq: made, decisionId: `gd_${process}_${String(made).padStart(10, '0')}` };
    },
    record(decision, asker) {
      if (waiting.length >= mostWaiting) {
        const dropped = waiting.splice(0, MOST_AT_ONCE);
        const [first, last] = [dropped[0]!.decision.seq, dropped.at(-1)!.decision.seq];
        log.error('decisions_dropped', { process, first, last });
      }
      waiting.push({ decision, asker });
      schedule(everyMs);
    },
    async flush() {
      clearTimeout(timer);
      timer = undefined;
      await running;
      await run();
      clearTimeout(timer);
    },
  };
}

/** Looking for each decision before it is entered costs a fifth of entering it, so that is done where it may be there. */
async function insert(
  sql: Sql,
  process: string,
  { batch, mayBeThere }: { readonly batch: readonly Entry[]; readonly mayBeThere: boolean },
): Promise<void> {
  const texts = (of: (entry: Entry) => string | null) => textArray(batch.map(of));
  await sql.query(
    {
      name: mayBeThere ? 'gate decisions again' : 'gate decisions',
      text: `INSERT INTO gate.gate_decisions (process, decision_id, seq, environment, key_id, request_id, subject_ref, venue_id,
               action, decision, reason_code, fail_closed, policy_version, ledger_record_id, record_version, evaluated_at)
             SELECT $1, id, seq, environment, key_id, request_id, subject_ref, venue_id, action, decision, reason_code,
                    fail_closed = 1, policy_version, ledger_record_id, record_version, to_timestamp(evaluated_ms / 1000.0::float8)
               FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                           $10::text[], $11::text[], $12::integer[], $13::text[], $14::text[], $15::bigint[], $16::bigint[])
                    d (id, seq, environment, key_id, request_id, subject_ref, venue_id, action, decision,
                       reason_code, fail_closed, policy_version, ledger_record_id, record_version, evaluated_ms)
             ${mayBeThere ? 'ON CONFLICT DO NOTHING' : ''}`,
      values: [
        process,
        texts(({ decision }) => decision.decisionId),
        int8Array(batch.map(({ decision }) => decision.seq)),
        texts(({ decision }) => decision.entry.environment),
        texts(({ asker }) => asker.keyId),
        texts(({ asker }) => asker.requestId),
        texts(({ decision }) => loggable(decision.entry.subjectRef)),
        texts(({ decision }) => loggable(decision.entry.venueId)),
        texts(({ decision }) => loggable(decision.entry.action) ?? ''),
        texts(({ decision }) => (decision.allow ? 'allow' : 'deny')),
        texts(({ decision }) => decision.reason),
        int4Array(batch.map(({ decision }) => (decision.failClosed ? 1 : 0))),
        texts(({ decision }) => decision.policyVersion),
        texts(({ decision }) => decision.ledgerRecordId),
        int8Array(batch.map(({ decision }) => decision.recordVersion)),
        int8Array(batch.map(({ decision }) => decision.evaluatedAt.getTime())),
      ],
    },
    { deadlineMs: WRITE_WITHIN_MS },
  );
}

/** An id that is none is not kept: what a stranger put there instead may be anything. */
function loggable(text: string): string | null {
  return /^[A-Za-z0-9_-]{1,80}$/.test(text) ? text : null;
}

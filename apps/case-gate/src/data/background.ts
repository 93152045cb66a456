import type { WaitingItem } from '@sealgate/admin-api';
import type { LedgerAppender } from '@sealgate/ledger-port';
import type { Removal, Sql } from '@sealgate/storage';
import { proveSeal, type PackPorts } from '../domain/assessor-pack.ts';
import { expire, hasEnded } from '../domain/case-lifetime.ts';
import type { InTransaction, OutboxRecord } from '../domain/case-transaction.ts';
import { completeSeal, ledgerUnit, SEAL_RECORD_TYPE, type SealPorts } from '../domain/seal-case.ts';

const RECORDS_AT_ONCE = 200;
/** Lease of a process on the records that it took; afterwards they are due again. */
const LEASE_MS = 2000;

interface OutboxPorts extends Pick<SealPorts, 'recordIds' | 'decisionMacs' | 'onCorrupt' | 'onConflict' | 'target'> {
  readonly sql: Sql;
  /** The ledger that receives these records; seals and versions may go to different ones. */
  readonly ledger: Pick<LedgerAppender, 'append'>;
  readonly inTransaction: InTransaction;
  readonly now: () => number;
}

/**
 * Sends due outbox records to the ledger and completes the seals among them. Appending a record twice writes it once,
 * so the next process finishes what a crash interrupts. Seals and versions are drained separately because they may go
 * to different ledgers. When a record is due is told by the clock of the database, which all processes share. Returns the
 * number of records sent.
 */
export async function drainOutbox(ports: OutboxPorts, what: 'seals' | 'versions'): Promise<number> {
  let sent = 0;
  for (;;) {
    const due = await takeDue(ports, what);
    await sendRecords(ports, due);
    sent += due.length;
    if (due.length < RECORDS_AT_ONCE) return sent;
  }
}

async function takeDue({ sql }: OutboxPorts, what: 'seals' | 'versions'): Promise<OutboxRecord[]> {
  return sql.query<OutboxRecord>({
    text: `UPDATE gate.outbox o SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => $1)
            WHERE outbox_id IN (SELECT outbox_id FROM gate.outbox WHERE next_attempt_at <= now()
                                  AND (record_type = $3) = $4 ORDER BY outbox_id LIMIT $2 FOR UPDATE SKIP LOCKED)
           RETURNING record_id AS "recordId", record_type AS "recordType", data`,
    values: [LEASE_MS / 1000, RECORDS_AT_ONCE, SEAL_RECORD_TYPE, what === 'seals'],
  });
}

type Outcome = 'written' | 'conflict';

/**
 * Sends the records together, which costs the ledger one commit. A failed record stays in the outbox; throws at the
 * end.
 */
async function sendRecords(ports: OutboxPorts, records: readonly OutboxRecord[]): Promise<void> {
  const sent = await Promise.allSettled(records.map((record) => send(ports, record)));
  const done: string[] = [];
  let failure = sent.find((each) => each.status === 'rejected')?.reason as unknown;
  for (const [index, { recordId, recordType }] of records.entries()) {
    const each = sent[index];
    if (each?.status !== 'fulfilled') continue;
    if (recordType !== SEAL_RECORD_TYPE) {
      if (each.value === 'conflict') ports.onConflict(recordId);
      done.push(recordId);
      continue;
    }
    const completed = { recordId, outcome: each.value, actor: 'system' };
    await ports
      .inTransaction((tx) => completeSeal(tx, ports, completed))
      .catch((error: unknown) => (failure ??= error));
  }
  if (done.length > 0) {
    await ports.sql.query({ text: 'DELETE FROM gate.outbox WHERE record_id = ANY ($1)', values: [done] });
  }
  if (failure !== undefined) throw new Error('Some records are not in the ledger yet.', { cause: failure });
}

async function send({ ledger, target }: OutboxPorts, record: OutboxRecord): Promise<Outcome> {
  const { outcome } = await ledger.append(ledgerUnit(target, record));
  return outcome === 'conflict' || outcome === 'reused' ? 'conflict' : 'written';
}

const CASES_AT_ONCE = 100;

/** Expires cases past their deadline. Returns how many. */
export async function expireCases(ports: {
  sql: Sql;
  inTransaction: InTransaction;
  now: () => number;
}): Promise<number> {
  const due = await ports.sql.query<{ case_id: string; environment: string }>({
    text: `SELECT case_id, environment FROM gate.cases
            WHERE status IN ('received', 'in_review') AND expires_at <= $1 ORDER BY expires_at LIMIT $2`,
    values: [new Date(ports.now()), CASES_AT_ONCE],
  });
  let failure: unknown;
  for (const { case_id: caseId, environment } of due) {
    const ended = ports.inTransaction(async (tx) => {
      const record = await tx.lockCase(environment, caseId);
      if (record !== undefined && hasEnded(record, ports.now())) await expire(tx, record, ports.now());
    });
    // A case that fails its integrity check does not stop the others.
    await ended.catch((error: unknown) => (failure = error));
  }
  if (failure !== undefined) throw new Error('Some cases could not be expired.', { cause: failure });
  return due.length;
}

const PROOFS_AT_ONCE = 20;

/** Stores the proof of each seal once a checkpoint covers it. */
export async function keepProofs(sql: Sql, ports: Pick<PackPorts, 'ledger' | 'channel' | 'keepProof'>): Promise<void> {
  const rows = await sql.query<{ ledger_record_id: string }>({
    text: `SELECT ledger_record_id FROM gate.seals WHERE status = 'sealed' AND proof IS NULL ORDER BY sealed_at LIMIT $1`,
    values: [PROOFS_AT_ONCE],
  });
  for (const { ledger_record_id: recordId } of rows) await proveSeal(ports, recordId);
}

const DAY_MS = 86_400_000;
export const CLAIM_DAYS = 30;

/** Longer than the longest chart. */
const COUNT_DAYS = 40;

/** Retention: claims of 30 days, counts of decisions of 40, logged decisions for the configured number of days. */
export function oldRows(nowMs: number, decisionDays: number): Record<'claims' | 'counts' | 'decisions', Removal> {
  const before = (days: number) => [new Date(nowMs - days * DAY_MS)];
  return {
    claims: { table: 'gate.claims', condition: 'created_at < $1', orderBy: 'created_at', values: before(CLAIM_DAYS) },
    counts: {
      table: 'gate.decision_counts',
      condition: 'starts_at < $1',
      orderBy: 'starts_at',
      values: before(COUNT_DAYS),
    },
    decisions: {
      table: 'gate.gate_decisions',
      condition: `evaluated_at AT TIME ZONE 'UTC' < $1::timestamptz AT TIME ZONE 'UTC'`,
      orderBy: `evaluated_at AT TIME ZONE 'UTC'`,
      values: before(decisionDays),
    },
  };
}

/** Records waiting for the ledger, and seals waiting for a proof. */
export async function waitingWork(sql: Sql): Promise<WaitingItem[]> {
  const [row] = await sql.query<{ outbox: string; proofs: string; oldest_proof: Date | null }>({
    text: `SELECT (SELECT count(*) FROM gate.outbox) AS outbox, count(*) AS proofs, min(s.sealed_at) AS oldest_proof
             FROM gate.seals s WHERE s.status = 'sealed' AND s.proof IS NULL`,
  });
  return [
    {
      what: 'outbox',
      description: 'Records waiting to be written to the ledger',
      count: Number(row?.outbox ?? 0),
      oldestAt: undefined,
    },
    {
      what: 'proofs',
      description: 'Seals waiting for their proof',
      count: Number(row?.proofs ?? 0),
      oldestAt: row?.oldest_proof ?? undefined,
    },
  ];
}

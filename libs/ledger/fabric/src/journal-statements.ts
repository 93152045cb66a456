import { byteaArray, int8Array, textArray, type Statement } from '@sealgate/storage';

/** A claim that is taken together with a journal row. See `@sealgate/idempotency`. */
export interface NewClaim {
  /** 32 bytes that identify (scope, key). */
  readonly claim: Buffer;
  readonly fingerprint: string;
  /** Our name of the channel. */
  readonly channel: string;
  /** The caller's note, returned by a replay. */
  readonly note: string;
  /** JSON: the receipts that a replay returns. */
  readonly receipts: string;
}

/** What is journalled of a transaction before it is submitted: everything needed to resend and settle it. */
export interface JournalEntry {
  readonly transactionId: string;
  /** Fabric's name. */
  readonly channel: string;
  /** The name of the identity that signed it. */
  readonly identity: string;
  /** The signed Submit request; resending it sends these bytes. */
  readonly request: Buffer;
  readonly fromBlock: number | undefined;
  readonly reference: string | undefined;
  readonly note: string | undefined;
  readonly claim: NewClaim | undefined;
}

export interface Ending {
  readonly transactionId: string;
  readonly status: 'committed' | 'invalid' | 'refused';
  /** The validation code, or the orderer's message. */
  readonly detail: string | null;
  readonly blockNumber: number | null;
  readonly result: Uint8Array | null;
}

/** A transaction of a process that is gone. */
export interface OrphanEntry {
  readonly transactionId: string;
  readonly channel: string;
  readonly request: Buffer;
  readonly fromBlock: number | undefined;
  readonly note: string | undefined;
  readonly begunAtMs: number;
}

const idOf = (transactionId: string): Buffer => Buffer.from(transactionId, 'hex');

/**
 * Journals a group and takes the claims of its transactions in the same statement. Returns the transactions that it did
 * not insert. `claimed`: another one holds the claim. The others are in the journal already (the response to an earlier
 * attempt was lost), or another one holds their reference: see `insertedStatement`. Claims are taken in order to avoid
 * deadlocks between groups.
 */
export function beginStatement(schema: string, holder: string, entries: readonly JournalEntry[]): Statement {
  return {
    name: `${schema} fabric begin`,
    text: `WITH entry AS (
             SELECT * FROM unnest($2::bytea[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bigint[], $8::bytea[],
                                  $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
               AS t (transaction_id, channel, reference, note, claim, from_block, request,
                     fingerprint, claim_channel, claim_note, receipts, identity)),
           taken AS (
             INSERT INTO ${schema}.fabric_claims AS held (claim, fingerprint, transaction_id, channel, note, receipts)
             SELECT claim, fingerprint, transaction_id, claim_channel, claim_note, receipts
               FROM entry WHERE claim IS NOT NULL ORDER BY claim
             ON CONFLICT (claim) DO UPDATE SET fingerprint = held.fingerprint
              WHERE held.transaction_id = EXCLUDED.transaction_id
             RETURNING held.claim),
           begun AS (
             INSERT INTO ${schema}.fabric_transactions
                         (transaction_id, holder, channel, identity, reference, note, claim, from_block, request)
             SELECT transaction_id, $1, channel, identity, reference, note, claim, from_block, request
               FROM entry WHERE claim IS NULL OR claim IN (SELECT claim FROM taken)
             ON CONFLICT DO NOTHING
             RETURNING transaction_id)
           SELECT transaction_id, claim IS NOT NULL AND claim NOT IN (SELECT claim FROM taken) AS claimed
             FROM entry WHERE transaction_id NOT IN (SELECT transaction_id FROM begun)`,
    values: [
      holder,
      byteaArray(entries.map(({ transactionId }) => idOf(transactionId))),
      textArray(entries.map(({ channel }) => channel)),
      textArray(entries.map(({ reference }) => reference ?? null)),
      textArray(entries.map(({ note }) => note ?? null)),
      byteaArray(entries.map(({ claim }) => claim?.claim ?? null)),
      int8Array(entries.map(({ fromBlock }) => fromBlock ?? null)),
      byteaArray(entries.map(({ request }) => request)),
      textArray(entries.map(({ claim }) => claim?.fingerprint ?? null)),
      textArray(entries.map(({ claim }) => claim?.channel ?? null)),
      textArray(entries.map(({ claim }) => claim?.note ?? null)),
      textArray(entries.map(({ claim }) => claim?.receipts ?? null)),
      textArray(entries.map(({ identity }) => identity)),
    ],
  };
}

/** Those of the transactions that may be sent: they are in the journal, and not withdrawn. */
export function insertedStatement(schema: string, transactionIds: readonly string[]): Statement {
  return {
    name: `${schema} fabric inserted`,
    text: `SELECT transaction_id FROM ${schema}.fabric_transactions
            WHERE transaction_id = ANY ($1::bytea[]) AND status <> 'withdrawn'`,
    values: [byteaArray(transactionIds.map(idOf))],
  };
}

/**
 * Takes the place of a transaction that is not in the journal, so that a process that still tries to write its row, and
 * would send it then, finds it taken. Returns no row if the transaction is in the journal.
 */
export function withdrawStatement(
  schema: string,
  holder: string,
  { transactionId, channel }: { readonly transactionId: string; readonly channel: string },
): Statement {
  return {
    text: `INSERT INTO ${schema}.fabric_transactions AS t (transaction_id, holder, channel, status, settled_at)
           VALUES ($1, $2, $3, 'withdrawn', clock_timestamp())
           ON CONFLICT (transaction_id) DO UPDATE SET holder = t.holder WHERE t.status = 'withdrawn'
           RETURNING transaction_id`,
    values: [idOf(transactionId), holder, channel],
  };
}

/**
 * Settles a group, each transaction once, releases the claims of those that were not committed, and raises the height
 * of their channels.
 */
export function settleStatement(schema: string, endings: readonly Ending[]): Statement {
  return {
    name: `${schema} fabric settle`,
    text: `WITH ending AS (
             SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[], $5::bytea[])
               AS t (transaction_id, status, detail, block_number, result)),
           settled AS (
             UPDATE ${schema}.fabric_transactions AS open
                SET status = ending.status, detail = ending.detail, block_number = ending.block_number,
                    result = ending.result, request = NULL, settled_at = clock_timestamp()
               FROM ending
              WHERE open.transaction_id = ending.transaction_id AND open.settled_at IS NULL
             RETURNING open.transaction_id, open.claim, open.status, open.channel, open.block_number),
           raised AS (
             INSERT INTO ${schema}.fabric_heights AS known (channel, block_number)
             SELECT channel, max(block_number) FROM settled WHERE status = 'committed' GROUP BY channel ORDER BY channel
             ON CONFLICT (channel) DO UPDATE SET block_number = EXCLUDED.block_number
              WHERE known.block_number < EXCLUDED.block_number)
           DELETE FROM ${schema}.fabric_claims AS held USING settled
            WHERE settled.status <> 'committed' AND held.claim = settled.claim
              AND held.transaction_id = settled.transaction_id`,
    values: [
      byteaArray(endings.map(({ transactionId }) => idOf(transactionId))),
      textArray(endings.map(({ status }) => status)),
      textArray(endings.map(({ detail }) => detail)),
      int8Array(endings.map(({ blockNumber }) => blockNumber)),
      byteaArray(endings.map(({ result }) => result)),
    ],
  };
}

/** Renews the lease of this process; returns whether there are transactions of processes without one. */
export function beatStatement(schema: string, holder: string, leaseMs: number): Statement {
  return {
    name: `${schema} fabric beat`,
    text: `WITH beat AS (
             INSERT INTO ${schema}.fabric_holders AS h (holder, alive_until)
             VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
             ON CONFLICT (holder) DO UPDATE SET alive_until = EXCLUDED.alive_until)
           SELECT EXISTS (
             SELECT FROM ${schema}.fabric_transactions t
              WHERE t.settled_at IS NULL AND t.holder <> $1
                AND NOT EXISTS (SELECT FROM ${schema}.fabric_holders o
                                 WHERE o.holder = t.holder AND o.alive_until > clock_timestamp())) AS orphans`,
    values: [holder, leaseMs],
  };
}

/**
 * Takes over transactions of processes that are gone, oldest first. Several processes may do so concurrently. `known`
 * is passed after a lost response: transactions taken over then are held by this process but not among the known ones.
 */
export function adoptStatement(
  schema: string,
  holder: string,
  { most, known }: { most: number; known: readonly string[] | undefined },
): Statement {
  return {
    name: `${schema} fabric adopt`,
    text: `UPDATE ${schema}.fabric_transactions AS mine SET holder = $1
             FROM (SELECT t.transaction_id FROM ${schema}.fabric_transactions t
                    WHERE t.settled_at IS NULL
                      AND (t.holder <> $1
                           AND NOT EXISTS (SELECT FROM ${schema}.fabric_holders o
                                            WHERE o.holder = t.holder AND o.alive_until > clock_timestamp())
                           OR t.holder = $1 AND t.begun_at < clock_timestamp() - interval '1 minute'
                              AND t.transaction_id <> ALL ($3::bytea[]))
                    ORDER BY t.begun_at LIMIT $2 FOR UPDATE SKIP LOCKED) AS orphan
            WHERE mine.transaction_id = orphan.transaction_id
           RETURNING mine.transaction_id, mine.channel, mine.request, mine.from_block, mine.note,
                     (extract(epoch FROM mine.begun_at) * 1000)::float8 AS begun_at_ms`,
    values: [holder, most, known?.map(idOf) ?? null],
  };
}

/** Ends this process's lease, so that others need not wait for it. */
export function departStatement(schema: string, holder: string): Statement {
  return {
    name: `${schema} fabric depart`,
    text: `UPDATE ${schema}.fabric_holders SET alive_until = clock_timestamp() WHERE holder = $1`,
    values: [holder],
  };
}

/**
 * Removes old settled transactions, in batches, and processes that are gone. Claims are kept without limit, and so are
 * transactions of which `inUse` (a condition on their row `t`) is true.
 */
export function forgetStatement(
  schema: string,
  { keepSettledMs, most, inUse }: { keepSettledMs: number; most: number; inUse: string | undefined },
): Statement {
  return {
    name: `${schema} fabric forget`,
    text: `WITH old AS (
             SELECT transaction_id FROM ${schema}.fabric_transactions t
              WHERE settled_at < clock_timestamp() - $1 * interval '1 millisecond'${inUse === undefined ? '' : ` AND NOT (${inUse})`}
              ORDER BY settled_at LIMIT $2 FOR UPDATE SKIP LOCKED),
           gone AS (
             DELETE FROM ${schema}.fabric_transactions USING old
              WHERE fabric_transactions.transaction_id = old.transaction_id
             RETURNING 1),
           dead AS (
             DELETE FROM ${schema}.fabric_holders AS h
              WHERE h.alive_until < clock_timestamp() - interval '1 hour'
                AND NOT EXISTS (SELECT FROM ${schema}.fabric_transactions t
                                 WHERE t.settled_at IS NULL AND t.holder = h.holder))
           SELECT (SELECT count(*) FROM gone)::int AS removed`,
    values: [keepSettledMs, most],
  };
}

/** The most transactions of a group that have, or may have, an effect: one for each asset of the largest request. */
export const MOST_IN_GROUP = 1000;

const ROW = 'transaction_id, status, detail, block_number, result, note';

export function readStatement(schema: string, transactionId: string): Statement {
  return {
    name: `${schema} fabric read`,
    text: `SELECT ${ROW} FROM ${schema}.fabric_transactions WHERE transaction_id = $1`,
    values: [idOf(transactionId)],
  };
}

/** The transactions of a group that are, or may be, in a block with an effect: each reference has one at most. */
export function readGroupStatement(schema: string, group: string): Statement {
  return {
    name: `${schema} fabric read group`,
    // In the "C" collation a semicolon follows the colon: this is the range of all references of the group.
    text: `SELECT ${ROW} FROM ${schema}.fabric_transactions
            WHERE reference >= $1 || ':' AND reference < $1 || ';' AND status IN ('unsettled', 'committed')
            ORDER BY reference LIMIT ${MOST_IN_GROUP + 1}`,
    values: [group],
  };
}

/** The highest block of a channel whose effect a caller may know, for all processes. */
export function heightStatement(schema: string, channel: string): Statement {
  return {
    name: `${schema} fabric height`,
    text: `SELECT block_number FROM ${schema}.fabric_heights WHERE channel = $1`,
    values: [channel],
  };
}

/**
 * Raises it. Visible at once; not waiting for the disk, because the row of the transaction is settled right after, which
 * raises it too and makes both durable.
 */
export function raiseStatement(schema: string, channel: string, blockNumber: number): Statement {
  return {
    name: `${schema} fabric raise`,
    text: `WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
           INSERT INTO ${schema}.fabric_heights AS known (channel, block_number) SELECT $1, $2 FROM quick
           ON CONFLICT (channel) DO UPDATE SET block_number = EXCLUDED.block_number
            WHERE known.block_number < EXCLUDED.block_number`,
    values: [channel, blockNumber],
  };
}

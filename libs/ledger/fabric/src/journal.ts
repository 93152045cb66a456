import { DatabaseUnavailableError, isDeadlock, type Database, type Statement } from '@sealgate/storage';
import type { Settlement, SentTransaction } from './fabric-client.ts';
import { UnavailableError } from './fabric-errors.ts';
import { Grouped } from './grouped.ts';
import {
  adoptStatement,
  beatStatement,
  beginStatement,
  departStatement,
  forgetStatement,
  heightStatement,
  insertedStatement,
  MOST_IN_GROUP,
  raiseStatement,
  readGroupStatement,
  readStatement,
  settleStatement,
  withdrawStatement,
  type Ending,
  type JournalEntry,
  type OrphanEntry,
} from './journal-statements.ts';

interface JournalSettings {
  readonly sql: Database;
  readonly schema: string;
  /** A UUID of this process, new at every start. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly keepSettledMs: number;
  /** SQL, a condition on a settled row `t`: while it is true, the row is kept. */
  readonly inUse?: string | undefined;
}

/**
 * - begun: the row exists, and so does the claim
 * - claimed: another transaction holds the claim or the reference, or this one was withdrawn; nothing was written
 * - unwritten: certainly nothing was written
 * - unsure: the database did not answer
 */
type Begun = 'begun' | 'claimed' | 'unwritten' | 'unsure';

interface TransactionRow {
  readonly transaction_id: Buffer;
  readonly status: string;
  readonly detail: string | null;
  readonly block_number: string | null;
  readonly result: Buffer | null;
  readonly note: string | null;
}

const WRITE_WITHIN_MS = 2000;
const READ_WITHIN_MS = 2000;
const MAX_GROUP_SIZE = 256;
/** Two: the second is sent while the first waits for the disk. */
const GROUPS_AT_ONCE = 2;
const FORGET_AT_ONCE = 5000;
const MAX_ATTEMPTS = 5;
const SCHEMA_NAME = /^[a-z][a-z0-9_]*$/;

/** Signed, unsettled transactions of this surface in PostgreSQL; see the README for the states of a row. */
export class Journal {
  readonly #settings: JournalSettings;
  readonly #begin: Grouped<JournalEntry, Begun>;
  readonly #settle: Grouped<Ending, void>;

  constructor(settings: JournalSettings) {
    // The name becomes part of statements.
    if (!SCHEMA_NAME.test(settings.schema)) throw new Error(`"${settings.schema}" cannot name a schema.`);
    this.#settings = settings;
    this.#begin = new Grouped<JournalEntry, Begun>({
      most: MAX_GROUP_SIZE,
      running: GROUPS_AT_ONCE,
      run: (entries) => this.#runBegin(entries),
      keyOf: ({ claim }) => claim?.claim.toString('latin1'),
    });
    this.#settle = new Grouped<Ending, void>({
      most: MAX_GROUP_SIZE,
      running: 1,
      run: (endings) => this.#runSettle(endings),
    });
  }

  /** Never rejects: failures are among the results. The same entry may be passed again. */
  begin(entry: JournalEntry): Promise<Begun> {
    return this.#begin.add(entry);
  }

  /** Resolves once it is written. A transaction is settled once; a second ending has no effect. */
  settle(ending: Ending): Promise<void> {
    return this.#settle.add(ending);
  }

  /** True if there are transactions to adopt. */
  async beat(): Promise<boolean> {
    const { schema, holder, leaseMs } = this.#settings;
    const [row] = await this.#query<{ orphans: boolean }>(beatStatement(schema, holder, leaseMs));
    return row?.orphans === true;
  }

  async depart(): Promise<void> {
    const { schema, holder } = this.#settings;
    await this.#query(departStatement(schema, holder));
  }

  /** Takes over transactions of processes that are gone; see `adoptStatement` for `known`. */
  async adopt(most: number, known: readonly string[] | undefined): Promise<OrphanEntry[]> {
    const { schema, holder } = this.#settings;
    const rows = await this.#query<{
      transaction_id: Buffer;
      channel: string;
      request: Buffer;
      from_block: string | null;
      note: string | null;
      begun_at_ms: number;
    }>(adoptStatement(schema, holder, { most, known }));
    return rows.map((row) => ({
      transactionId: row.transaction_id.toString('hex'),
      channel: row.channel,
      request: row.request,
      fromBlock: row.from_block === null ? undefined : Number(row.from_block),
      note: row.note ?? undefined,
      begunAtMs: row.begun_at_ms,
    }));
  }

  /** Removes some old settled transactions, but no claims; true if there may be more. */
  async forget(): Promise<boolean> {
    const { schema, keepSettledMs, inUse } = this.#settings;
    const statement = forgetStatement(schema, { keepSettledMs, most: FORGET_AT_ONCE, inUse });
    const [row] = await this.#query<{ removed: number }>(statement);
    return (row?.removed ?? 0) === FORGET_AT_ONCE;
  }

  /** Undefined: it is not in the journal. @throws UnavailableError if the journal cannot be queried. */
  async read(transactionId: string): Promise<Settlement | undefined> {
    const [row] = await this.#ask<TransactionRow>(readStatement(this.#settings.schema, transactionId));
    return row === undefined ? undefined : settlementOf(row);
  }

  /**
   * The transactions whose references begin with `<group>:`, except those known to have no effect.
   * @throws UnavailableError if the journal cannot be queried.
   */
  async readGroup(group: string): Promise<SentTransaction[]> {
    const rows = await this.#ask<TransactionRow>(readGroupStatement(this.#settings.schema, group));
    // What is cut off must not be taken for what was never sent.
    if (rows.length > MOST_IN_GROUP) throw new UnavailableError('The group has more transactions than can be read.');
    return rows.map((row) => ({ settlement: settlementOf(row), note: row.note ?? undefined }));
  }

  /**
   * Makes certain that a transaction without a row is never journalled, and so never sent. False: it has a row.
   * @throws UnavailableError if the journal does not answer.
   */
  async withdraw(transactionId: string, channel: string): Promise<boolean> {
    const { schema, holder } = this.#settings;
    return (await this.#ask(withdrawStatement(schema, holder, { transactionId, channel }))).length > 0;
  }

  /**
   * The highest block of a channel with a write that somebody was told of; undefined before the first.
   * @throws UnavailableError if the journal cannot be queried.
   */
  async height(channel: string): Promise<number | undefined> {
    const [row] = await this.#ask<{ block_number: string }>(heightStatement(this.#settings.schema, channel));
    return row === undefined ? undefined : Number(row.block_number);
  }

  /** @throws UnavailableError if the journal does not answer. */
  async raiseHeight(channel: string, blockNumber: number): Promise<void> {
    await this.#ask(raiseStatement(this.#settings.schema, channel, blockNumber));
  }

  get idle(): boolean {
    return this.#begin.idle && this.#settle.idle;
  }

  async #ask<Row extends object>(statement: Statement): Promise<Row[]> {
    try {
      return await this.#query<Row>(statement);
    } catch (cause) {
      if (!(cause instanceof DatabaseUnavailableError)) throw cause;
      throw new UnavailableError('The journal cannot be queried.', { cause });
    }
  }

  #query<Row extends object>(statement: Statement): Promise<Row[]> {
    return this.#settings.sql.query<Row>(statement, { deadlineMs: READ_WITHIN_MS });
  }

  async #runBegin(entries: readonly JournalEntry[], attempt = 1): Promise<Begun[]> {
    const { sql, schema, holder } = this.#settings;
    try {
      const statement = beginStatement(schema, holder, entries);
      const absent = await sql.query<AbsentRow>(statement, { deadlineMs: WRITE_WITHIN_MS });
      const found = new Map(absent.map((row) => [hexOf(row), row.claimed ? 'claimed' : undefined] as const));
      const inserted = absent.every(({ claimed }) => claimed) ? [] : await this.#inserted(absent);
      return entries.map(({ transactionId: id }) => {
        if (!found.has(id)) return 'begun';
        if (inserted === undefined) return found.get(id) ?? 'unsure';
        return found.get(id) ?? (inserted.includes(id) ? 'begun' : 'claimed');
      });
    } catch (error) {
      // Groups of two processes waited for each other's claims.
      if (isDeadlock(error) && attempt < MAX_ATTEMPTS) return this.#runBegin(entries, attempt + 1);
      // A server that rejects the statement has rolled it back.
      const sent = error instanceof DatabaseUnavailableError && error.sent;
      return entries.map(() => (sent ? 'unsure' : 'unwritten'));
    }
  }

  /**
   * In a statement of its own: the row may have been inserted by an earlier attempt that the statement before waited for
   * but, being older, could not see. Undefined: the database did not answer.
   */
  async #inserted(absent: readonly AbsentRow[]): Promise<string[] | undefined> {
    const statement = insertedStatement(this.#settings.schema, absent.map(hexOf));
    try {
      return (await this.#query<{ transaction_id: Buffer }>(statement)).map(hexOf);
    } catch {
      return undefined;
    }
  }

  async #runSettle(endings: readonly Ending[]): Promise<undefined[]> {
    const { sql, schema } = this.#settings;
    await sql.query(settleStatement(schema, endings), { deadlineMs: WRITE_WITHIN_MS });
    return endings.map(() => undefined);
  }
}

/** An entry that a statement did not insert. */
interface AbsentRow {
  readonly transaction_id: Buffer;
  readonly claimed: boolean;
}

const hexOf = (row: { readonly transaction_id: Buffer }): string => row.transaction_id.toString('hex');

function settlementOf(row: TransactionRow): Settlement {
  const transactionId = row.transaction_id.toString('hex');
  const blockNumber = Number(row.block_number);
  const detail = row.detail ?? '';
  switch (row.status) {
    case 'committed':
      return { status: 'committed', transactionId, blockNumber, result: row.result ?? Buffer.alloc(0) };
    case 'invalid':
      return { status: 'invalid', transactionId, code: detail, blockNumber };
    case 'refused':
      return { status: 'refused', transactionId, message: detail };
    case 'withdrawn':
      return { status: 'refused', transactionId, message: 'It was withdrawn before it was sent.' };
    default:
      return { status: 'unknown', transactionId };
  }
}

import { LedgerUnavailableError } from '@sealgate/ledger-port';
import {
  logKeysText,
  noteVerifier,
  parseLogKeys,
  type LogKeys,
  type NoteVerifier,
  type RootSigner,
  type StatedKey,
} from '@sealgate/merkle';
import { textArray, type Sql, type Statement } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';

/**
 * How long the previous key of a log stays trusted after a rotation of the root key; documented as KEY_OVERLAP_DAYS.
 */
export const KEY_OVERLAP_DAYS = 90;
const DAY_MS = 86_400_000;

/** Interval after which a verified statement is checked again: its row may have been edited. */
const VERIFY_AGAIN_MS = 3_600_000;
/** Maximum keys in a statement; the oldest are dropped. */
const MAX_KEYS = 16;

interface LogKeyStatementsOptions {
  readonly signer: RootSigner;
  /** Accepts every published root key. */
  readonly verifier: NoteVerifier;
  readonly origin: string;
  readonly now: () => number;
}

/**
 * Writes the statements of which keys sign for each log, as notes signed by every root key of this process. A statement
 * is written with the first checkpoint of a log and after a rotation of the root keys. A replaced key stays listed for
 * KEY_OVERLAP_DAYS.
 */
export class LogKeyStatements {
  readonly #options: LogKeyStatementsOptions;
  readonly #roots: readonly NoteVerifier[];
  /** When each log's statement was last verified. */
  readonly #seenAtMs = new Map<string, number>();

  constructor(options: LogKeyStatementsOptions) {
    this.#options = options;
    this.#roots = options.signer.verifierKeys.map(noteVerifier);
  }

  /** The logs whose statement was not verified recently. */
  due(logs: readonly string[]): string[] {
    const nowMs = this.#options.now();
    return logs.filter((log) => nowMs - (this.#seenAtMs.get(log) ?? Number.NEGATIVE_INFINITY) >= VERIFY_AGAIN_MS);
  }

  /** Writes missing or outdated statements in the caller's transaction; call `kept` after the commit. */
  async write(sql: Pick<Sql, 'query'>, logs: readonly string[]): Promise<void> {
    if (logs.length === 0) return;
    const notes = noteOf(await sql.query<NoteRow>(notesOf(logs)));
    const missing: { readonly log: string; readonly note: string }[] = [];
    for (const log of logs) {
      const note = this.#next(log, notes.get(log), this.#options.now());
      if (note !== undefined) missing.push({ log, note });
    }
    if (missing.length === 0) return;
    const values = [textArray(missing.map(({ log }) => log)), textArray(missing.map(({ note }) => note))];
    await sql.query({ text: 'SELECT ledger.state_log_keys($1, $2)', values });
  }

  kept(logs: readonly string[]): void {
    for (const log of logs) this.#seenAtMs.set(log, this.#options.now());
  }

  /** The new statement for a log; undefined if the stored one is current. */
  #next(log: string, stored: string | undefined, nowMs: number): string | undefined {
    const { signer, origin: ledger } = this.#options;
    const origin = `${ledger}/${log}`;
    const ofLog = signer.ofLog(origin);
    const before = stored === undefined ? undefined : this.#verified(stored, origin);
    const isCurrent =
      before?.keys[0]?.verifierKey === ofLog.logKeys[0] &&
      ofLog.logKeys.every((key) => before?.keys.some(({ verifierKey }) => verifierKey === key)) &&
      this.#roots.every((root) => root.verify(stored!) !== undefined);
    if (isCurrent) return undefined;
    return signer.sign(logKeysText({ origin, keys: nextKeys(ofLog.logKeys, before?.keys ?? [], nowMs) }));
  }

  /**
   * Parses a stored statement if a published root key signed it. The database is not trusted: it could hold any note.
   */
  #verified(note: string, origin: string): LogKeys | undefined {
    const signed = this.#options.verifier.verify(note);
    try {
      const stated = signed === undefined ? undefined : parseLogKeys(signed.text);
      return stated?.origin === origin ? stated : undefined;
    } catch {
      // The only failure of parseLogKeys: the text, though signed by a root key, is not a statement.
      return undefined;
    }
  }
}

/** The first key signs and has no end; every other one ends at its stated time, or after the overlap. */
function nextKeys(ours: readonly string[], before: readonly StatedKey[], nowMs: number): StatedKey[] {
  const names = [...new Set([...ours, ...before.map(({ verifierKey }) => verifierKey)])].slice(0, MAX_KEYS);
  return names.map((verifierKey, place) => {
    const known = before.find((key) => key.verifierKey === verifierKey);
    const fromMs = known?.fromMs ?? nowMs;
    if (place === 0) return { verifierKey, fromMs };
    return { verifierKey, fromMs, untilMs: known?.untilMs ?? nowMs + KEY_OVERLAP_DAYS * DAY_MS };
  });
}

/** The signed statement of a log's keys, if any. @throws LedgerUnavailableError if it is not this ledger's. */
export async function findLogKeys(
  { sql, deadlineMs, verifier }: { sql: Sql; deadlineMs: number; verifier: NoteVerifier | undefined },
  log: string,
): Promise<string | undefined> {
  const note = noteOf(await readLedger<NoteRow>(sql, notesOf([log]), deadlineMs)).get(log);
  if (note !== undefined && verifier !== undefined && verifier.verify(note) === undefined) {
    throw new LedgerUnavailableError(`The stored statement of the keys of ${log} is signed by no published key.`);
  }
  return note;
}

interface NoteRow {
  log: string;
  note: string;
}

const notesOf = (logs: readonly string[]): Statement => ({
  name: 'ledger log keys',
  text: 'SELECT log, note FROM ledger.log_keys($1)',
  values: [textArray(logs)],
});

const noteOf = (rows: readonly NoteRow[]) => new Map(rows.map(({ log, note }) => [log, note]));

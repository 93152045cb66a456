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

/** How long the key of a log stays trusted once another root key signs: told in docs as KEY_OVERLAP_DAYS. */
export const KEY_OVERLAP_DAYS = 90;
const DAY_MS = 86_400_000;

/** A statement that was found in order is looked at again after so long: its row may have been edited. */
const LOOK_AGAIN_MS = 3_600_000;
/** Keys of root keys from before; the oldest are left out. */
const MOST_KEYS = 16;

export interface LogKeyStatementsOptions {
  readonly signer: RootSigner;
  /** Trusts every root key that is published. */
  readonly verifier: NoteVerifier;
  readonly origin: string;
  readonly now: () => number;
}

/**
 * States which keys sign for each log, in a note that every root key of this process signs. Written with the first checkpoint of
 * a log, and when the root keys change. A key that no longer comes first stays stated for KEY_OVERLAP_DAYS.
 */
export class LogKeyStatements {
  readonly #options: LogKeyStatementsOptions;
  readonly #roots: readonly NoteVerifier[];
  /** When each log was found in order. */
  readonly #seenAtMs = new Map<string, number>();

  constructor(options: LogKeyStatementsOptions) {
    this.#options = options;
    this.#roots = options.signer.verifierKeys.map(noteVerifier);
  }

  /** Those that were not looked at for long, or never. */
  due(logs: readonly string[]): string[] {
    const nowMs = this.#options.now();
    return logs.filter((log) => nowMs - (this.#seenAtMs.get(log) ?? Number.NEGATIVE_INFINITY) >= LOOK_AGAIN_MS);
  }

  /** Writes what is missing of these, in the caller's transaction; tell `kept` once it is committed. */
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
    await sql.query({ text: 'SELECT ledger.state_log_keys_v1($1, $2)', values });
  }

  kept(logs: readonly string[]): void {
    for (const log of logs) this.#seenAtMs.set(log, this.#options.now());
  }

  /** A new statement; undefined where the stored one says what is so. */
  #next(log: string, stored: string | undefined, nowMs: number): string | undefined {
    const { signer, origin: ledger } = this.#options;
    const origin = `${ledger}/${log}`;
    const ofLog = signer.ofLog(origin);
    const before = stored === undefined ? undefined : this.#believed(stored, origin);
    const isCurrent =
      before?.keys[0]?.verifierKey === ofLog.logKeys[0] &&
      ofLog.logKeys.every((key) => before?.keys.some(({ verifierKey }) => verifierKey === key)) &&
      this.#roots.every((root) => root.verify(stored!) !== undefined);
    if (isCurrent) return undefined;
    return signer.sign(logKeysText({ origin, keys: nextKeys(ofLog.logKeys, before?.keys ?? [], nowMs) }));
  }

  /** What a published root key signed. Whoever can write to the database can put any note there. */
  #believed(note: string, origin: string): LogKeys | undefined {
    const signed = this.#options.verifier.verify(note);
    try {
      const stated = signed === undefined ? undefined : parseLogKeys(signed.text);
      return stated?.origin === origin ? stated : undefined;
    } catch {
      // parseLogKeys fails in one way only: the text, though signed by the root key, is no statement.
      return undefined;
    }
  }
}

/** The first key signs and has no end; every other one ends, when it was stated to or after the overlap. */
function nextKeys(ours: readonly string[], before: readonly StatedKey[], nowMs: number): StatedKey[] {
  const names = [...new Set([...ours, ...before.map(({ verifierKey }) => verifierKey)])].slice(0, MOST_KEYS);
  return names.map((verifierKey, place) => {
    const known = before.find((key) => key.verifierKey === verifierKey);
    const fromMs = known?.fromMs ?? nowMs;
    if (place === 0) return { verifierKey, fromMs };
    return { verifierKey, fromMs, untilMs: known?.untilMs ?? nowMs + KEY_OVERLAP_DAYS * DAY_MS };
  });
}

/** The signed statement of a log; undefined where there is none. @throws LedgerUnavailableError for one that is not ours. */
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
  text: 'SELECT log, note FROM ledger.log_keys_v1($1)',
  values: [textArray(logs)],
});

const noteOf = (rows: readonly NoteRow[]) => new Map(rows.map(({ log, note }) => [log, note]));

import { isKeyName, parseVerifierKey } from './note-key.ts';
import { anyOf, noteVerifier, parseNote, type NoteVerifier } from './note.ts';

/** The first line. The second line of a checkpoint is a size, so a statement never parses as a checkpoint. */
const FORMAT = 'sealgate-log-keys/v1';
/** Bounds the work for an untrusted statement. */
const MAX_KEYS = 100;

export interface StatedKey {
  /** The key of a log, named after its origin: `<name>+<hash>+<base64>`. */
  readonly verifierKey: string;
  /** Start of validity, in milliseconds since the epoch. */
  readonly fromMs: number;
  /** End of validity; absent for the current key. */
  readonly untilMs?: number;
}

/**
 * The signing keys of one log. The statement is a note signed by the root key: pinning the root key trusts the listed
 * keys.
 */
export interface LogKeys {
  readonly origin: string;
  /** The current signing key first. */
  readonly keys: readonly StatedKey[];
}

/** The text of a statement, for signing. Throws when a member is invalid. */
export function logKeysText({ origin, keys }: LogKeys): string {
  const text = `${FORMAT}\n${origin}\n${keys.map(lineOf).join('')}`;
  parseLogKeys(text);
  return text;
}

const lineOf = ({ verifierKey, fromMs, untilMs }: StatedKey): string =>
  `key ${verifierKey} from ${timeText(fromMs)}${untilMs === undefined ? '' : ` until ${timeText(untilMs)}`}\n`;

const timeText = (ms: number): string => new Date(ms).toISOString();

/**
 * Parses a statement from a signed note or its text. Does NOT verify a signature: use `checkLogKeys`. Throws an Error
 * that describes the fault.
 */
export function parseLogKeys(noteOrText: string): LogKeys {
  const blank = noteOrText.lastIndexOf('\n\n');
  const text = blank < 0 ? noteOrText : noteOrText.slice(0, blank + 1);
  const [format, origin = '', ...lines] = text.split('\n');
  if (format !== FORMAT) throw new Error(`A statement of log keys begins with the line ${FORMAT}.`);
  if (!isKeyName(origin)) throw new Error('The second line of a statement of log keys is the origin of the log.');
  if (lines.pop() !== '' || lines.length === 0 || lines.length > MAX_KEYS) {
    throw new Error(`A statement holds from 1 to ${MAX_KEYS} keys, one a line, and ends in a newline.`);
  }
  return { origin, keys: lines.map((line) => statedKey(line, origin)) };
}

const TIME = String.raw`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)`;
const LINE = new RegExp(`^key (\\S+) from ${TIME}(?: until ${TIME})?$`, 'u');

function statedKey(line: string, origin: string): StatedKey {
  const [, verifierKey, from, until] = LINE.exec(line) ?? [];
  if (verifierKey === undefined || from === undefined) {
    throw new Error('A key of a statement reads: key <vkey> from <time> [until <time>].');
  }
  const { name } = parseVerifierKey(verifierKey);
  if (name !== origin) throw new Error(`The statement is of ${origin}, and a key in it is named ${name}.`);
  const fromMs = timeOf(from);
  return until === undefined ? { verifierKey, fromMs } : { verifierKey, fromMs, untilMs: timeOf(until) };
}

function timeOf(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms) || timeText(ms) !== text) throw new Error(`${text} is no time.`);
  return ms;
}

type LogKeysVerdict = (LogKeys & { readonly problem?: undefined }) | { readonly problem: string };

/** Verifies a statement against the pinned root key. Returns it, or the reason for rejecting it. Never throws. */
export function checkLogKeys(root: NoteVerifier, note: string, nowMs: number): LogKeysVerdict {
  let stated: LogKeys;
  let signers: string;
  try {
    const { text, signatures } = parseNote(note);
    stated = parseLogKeys(text);
    signers = signatures.map(({ name, keyHash }) => `${name}+${keyHash}`).join(', ');
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
  const { origin, keys } = stated;
  if (root.verify(note) === undefined) {
    return { problem: `The statement of ${origin} is not signed by the pinned root key, but by ${signers}.` };
  }
  if (!origin.startsWith(`${root.name}/`)) {
    return { problem: `The statement is of ${origin}, which is no log of the ledger ${root.name}.` };
  }
  const ends = keys.flatMap(({ untilMs }) => untilMs ?? []);
  if (ends.length === keys.length && ends.every((untilMs) => nowMs >= untilMs)) {
    return {
      problem: `The statement of ${origin} has expired: its last key was good until ${timeText(Math.max(...ends))}.`,
    };
  }
  return stated;
}

/** Trusts the root key, and listed log keys for their own log. */
export interface StatedVerifier extends NoteVerifier {
  /** The reason for rejecting a note signed by log keys; undefined when no log key is the reason. */
  refusal(note: string): string | undefined;
}

/** Adds the keys of verified statements (see `checkLogKeys`) to their root key. */
export function statedVerifier(root: NoteVerifier, statements: readonly LogKeys[], nowMs: number): StatedVerifier {
  const all = statements.flatMap(({ keys }) => keys);
  const isOver = ({ untilMs }: StatedKey): boolean => untilMs !== undefined && nowMs >= untilMs;
  const trusted = all.filter((key) => !isOver(key)).map(({ verifierKey }) => ofOneLog(noteVerifier(verifierKey)));
  const ended = new Map(
    all.filter(isOver).map(({ verifierKey, untilMs }) => {
      const { name, keyHash } = parseVerifierKey(verifierKey);
      return [`${name}+${keyHash}`, untilMs!];
    }),
  );
  return {
    ...anyOf([root, ...trusted])!,
    refusal(note) {
      const origin = note.slice(0, note.indexOf('\n'));
      for (const { name, keyHash } of signaturesOf(note)) {
        const untilMs = ended.get(`${name}+${keyHash}`);
        if (untilMs !== undefined)
          return `The key ${name}+${keyHash} was stated until ${timeText(untilMs)}: its time is over.`;
        if (name !== origin && trusted.some((key) => key.name === name && key.keyHash === keyHash)) {
          return `The checkpoint of ${origin} is signed by the key of another log, ${name}+${keyHash}.`;
        }
      }
      if (statements.some((statement) => statement.origin === origin)) return undefined;
      return `No statement that was given is of ${origin}: of ${statements.map((one) => one.origin).join(', ')}.`;
    },
  };
}

/** Accepts only notes of the log that the key is named after. */
function ofOneLog(key: NoteVerifier): NoteVerifier {
  const verifier: NoteVerifier = {
    ...key,
    keys: [],
    verify(note) {
      const signed = key.verify(note);
      return signed?.text.startsWith(`${key.name}\n`) === true ? signed : undefined;
    },
  };
  return Object.assign(verifier, { keys: [verifier] });
}

function signaturesOf(note: string) {
  try {
    return parseNote(note).signatures;
  } catch {
    // parseNote throws only for a malformed note, which has no signatures.
    return [];
  }
}

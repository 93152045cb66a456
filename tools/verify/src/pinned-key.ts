import { checkLogKeys, statedVerifier } from '@sealgate/merkle';
import type { LogKeys, LogPolicy, NoteVerifier } from '@sealgate/merkle';
import { findDemoFile } from './find-demo-file.ts';
import { jointVerifier, policyFrom, verifierFrom } from './given-keys.ts';
import { parseJson } from './parse-json.ts';
import { pathIn, readBytes, readText } from './read-file.ts';
import { objectAt, rootObject, stringAt } from './shape.ts';
import { UnreadableError } from './unreadable-error.ts';
import { witnessed } from './witnessed.ts';

export interface PinnedKey {
  readonly verifier: NoteVerifier;
  /** For people: where the key was taken from. */
  readonly source: string;
}

export interface KeyOptions {
  /** C2SP verifier keys, or files that hold them: of one log, whose checkpoints each of them may have signed. */
  readonly key?: readonly string[] | undefined;
  /** Files that hold statements of the keys of logs, signed by the pinned key: what such a key signed for its log counts too. */
  readonly statement?: readonly string[] | undefined;
  /** A `dev.json`, whose `ledger.verifierKey` is meant. */
  readonly devJson?: string | undefined;
  /** A C2SP tlog-policy file, a quorum of whose witnesses has to have cosigned every checkpoint. */
  readonly policy?: string | undefined;
}

export interface KeyContext {
  /** Relative paths are seen from here. */
  readonly directory: string;
  /** Milliseconds since the epoch: a statement has an end. */
  readonly now: () => number;
}

/** A statement of log keys that is not to be believed, in a sentence. */
export class StatementRefusedError extends UnreadableError {
  readonly where: string;

  constructor(where: string, problem: string) {
    super(problem);
    this.where = where;
  }
}

/**
 * Finds the key to trust: the one given, else that of the local demo, in the directory or above it. Throws UnreadableError, and
 * StatementRefusedError.
 */
export async function pinnedKey(
  { policy, statement = [], ...options }: KeyOptions,
  { directory, now }: KeyContext,
): Promise<PinnedKey> {
  const pinned = await keyOf(options, directory);
  const statements: LogKeys[] = [];
  for (const path of statement) statements.push(await readStatement(pathIn(directory, path), pinned.verifier, now()));
  const verifier = statements.length === 0 ? pinned.verifier : statedVerifier(pinned.verifier, statements, now());
  if (policy === undefined) return { ...pinned, verifier };
  return { ...pinned, verifier: witnessed(verifier, await readPolicy(pathIn(directory, policy))) };
}

async function readStatement(path: string, root: NoteVerifier, nowMs: number): Promise<LogKeys> {
  const verdict = checkLogKeys(root, await readText(path), nowMs);
  if (verdict.problem !== undefined) throw new StatementRefusedError(path, verdict.problem);
  return verdict;
}

async function keyOf({ key, devJson }: KeyOptions, directory: string): Promise<PinnedKey> {
  if (key !== undefined && devJson !== undefined)
    throw new UnreadableError('Give either --key or --dev-json, not both.');
  if (key !== undefined) return givenKeys(key, directory);
  if (devJson !== undefined) return keyInDevJson(await readBytes(pathIn(directory, devJson)), devJson);
  const found = findDemoFile(directory, process.getuid?.());
  if (found === undefined) {
    throw new UnreadableError(
      'No key to verify with: give --key <vkey or file>, or --dev-json <file>; ' +
        'there is neither .sealgate/dev.json nor .sealgate/log.vkey here or above.',
    );
  }
  if (found.kind === 'dev.json') return keyInDevJson(await readBytes(found.path), found.path);
  return { ...(await givenKeys([found.path], directory)), source: demo(found.path) };
}

async function givenKeys(given: readonly string[], directory: string): Promise<PinnedKey> {
  const verifiers: NoteVerifier[] = [];
  for (const key of given) {
    const [lines, where] = looksLikeKey(key)
      ? [[key], '--key']
      : [(await readText(pathIn(directory, key))).trim().split(BETWEEN_KEYS), key];
    verifiers.push(...lines.map((line) => verifierFrom(line, where)));
  }
  const verifier = jointVerifier(verifiers, '--key');
  return { verifier, source: given.map((key) => (looksLikeKey(key) ? '--key' : key)).join(', ') };
}

function keyInDevJson(bytes: Uint8Array, name: string): PinnedKey {
  const ledger = objectAt(rootObject(name, parseJson(bytes, name)), 'ledger');
  const verifier = verifierFrom(stringAt(ledger, 'verifierKey'), `${name}#/ledger/verifierKey`);
  return { verifier, source: demo(name) };
}

const demo = (name: string): string => `${name}, the demo on this machine: no independent pin`;

/** Reads a C2SP tlog-policy file. Throws UnreadableError. */
export async function readPolicy(path: string): Promise<LogPolicy> {
  return policyFrom(await readText(path), path);
}

/** A line each, or separated by commas as LEDGER_VERIFIER_KEYS holds them; a comma may stand in a name. */
const BETWEEN_KEYS = /\s*(?:\n|,(?=\s*[^\s,+]+\+[0-9a-f]{8}\+))\s*/;

/** A verifier key has two plus signs at its very places; a file name does not. */
function looksLikeKey(text: string): boolean {
  return /^[^+]+\+[0-9a-f]{8}\+/.test(text);
}

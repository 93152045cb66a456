import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { checkLogKeys, type LogKeys, type LogPolicy, type NoteVerifier, statedVerifier } from '@sealgate/merkle';
import { jointVerifier, policyFrom, verifierFrom, witnessed } from './given-keys.ts';
import { pathIn, readBytes, readText } from './read-file.ts';
import { objectAt, parseJson, rootObject, stringAt, UnreadableError } from './shape.ts';

export interface PinnedKey {
  readonly verifier: NoteVerifier;
  /** For the report: source of the key. */
  readonly source: string;
}

export interface KeyOptions {
  /** C2SP verifier keys, or files with them: of one log; a signature by any of them counts. */
  readonly key?: readonly string[] | undefined;
  /** Files with statements of the keys of logs, signed by the pinned key: such keys count for their log, too. */
  readonly statement?: readonly string[] | undefined;
  /** A `dev.json`, from which `ledger.verifierKey` is used. */
  readonly devJson?: string | undefined;
  /** A C2SP tlog-policy file; a quorum of its witnesses must have cosigned every checkpoint. */
  readonly policy?: string | undefined;
}

interface KeyContext {
  /** Relative paths are resolved against it. */
  readonly directory: string;
  /** Milliseconds since the epoch: statements expire. */
  readonly now: () => number;
}

/** An invalid statement of log keys, with a sentence. */
export class StatementRefusedError extends UnreadableError {
  readonly where: string;

  constructor(where: string, problem: string) {
    super(problem);
    this.where = where;
  }
}

/**
 * Finds the key to trust: the given one, else that of the local demo, in the directory or above it. @throws
 * UnreadableError, and StatementRefusedError.
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

/** Reads a C2SP tlog-policy file. @throws UnreadableError. */
export async function readPolicy(path: string): Promise<LogPolicy> {
  return policyFrom(await readText(path), path);
}

/** One key per line, or separated by commas as in LEDGER_VERIFIER_KEYS; a name may contain a comma. */
const BETWEEN_KEYS = /\s*(?:\n|,(?=\s*[^\s,+]+\+[0-9a-f]{8}\+))\s*/;

/** A verifier key has two plus signs at fixed places; a file name does not. */
function looksLikeKey(text: string): boolean {
  return /^[^+]+\+[0-9a-f]{8}\+/.test(text);
}

/** The files of `npm start` for tools: one while it is running, and the key, which stays after a stop. */
const KINDS = ['dev.json', 'log.vkey'] as const;

/**
 * Searches `.sealgate/dev.json`, else `.sealgate/log.vkey`, in the directory and those above it. A file that another
 * user can write decides what is trusted, so it must be named explicitly: throws UnreadableError for such a file.
 */
function findDemoFile(
  directory: string,
  uid: number | undefined,
): { readonly kind: 'dev.json' | 'log.vkey'; readonly path: string } | undefined {
  let folder = resolve(directory);
  for (;;) {
    for (const kind of KINDS) {
      const path = join(folder, '.sealgate', kind);
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) continue;
      const isOurs = uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0);
      if (isOurs) return { kind, path };
      const option = kind === 'dev.json' ? '--dev-json' : '--key';
      throw new UnreadableError(`${path} can be written by another user. If you trust it, name it with ${option}.`);
    }
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
}

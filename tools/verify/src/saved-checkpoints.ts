import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoint, HASH_BYTES, type NoteVerifier, TileTree } from '@sealgate/merkle';
import { readLines, readText } from './read-file.ts';
import { type Failure, type Reporter, startReport } from './report.ts';
import { isObject, parseJson, UnreadableError } from './shape.ts';
import { type NoteInput, openCheckpoint } from './signed-checkpoint.ts';

interface SavedOptions {
  readonly verifier: NoteVerifier;
  readonly channel: string | undefined;
  /** The leaf hashes of the current log. */
  readonly leafHashes: Buffer;
}

interface SavedCheckpoint extends Checkpoint {
  readonly where: string;
}

/**
 * Checks checkpoints saved elsewhere against the current log: each must cover a prefix of it. Only they can reveal that
 * a whole log was restored to an older state, which is consistent in itself. `path` is a signed note, an NDJSON file of
 * `{savedAt, note}` as the ledger writes one a day, or a directory of either (also the one above, with a folder per
 * channel).
 */
export async function checkSaved(report: Reporter, path: string, options: SavedOptions): Promise<void> {
  for (const file of await filesAt(path, options.channel)) await checkSavedFile(report, file, options);
}

async function checkSavedFile(report: Reporter, file: string, options: SavedOptions): Promise<void> {
  const saved: SavedCheckpoint[] = [];
  let isSound = true;
  for await (const note of notesIn(report, file)) {
    const checkpoint = openSaved(report, note, options);
    if (checkpoint === undefined) isSound = false;
    else saved.push(checkpoint);
  }
  const tree = TileTree.empty();
  const failures = saved
    .toSorted((a, b) => a.size - b.size)
    .map((checkpoint) => pastFailure(checkpoint, tree, options.leafHashes))
    .filter((failure) => failure !== undefined);
  const [first] = failures;
  if (first !== undefined) report.failed('saved', first);
  else if (isSound) report.ok('saved', `${saved.length} checkpoints in ${file}: all of the past of this log.`);
}

/** A saved checkpoint that is signed and of this log; failed steps of others go into the report. */
function openSaved(
  report: Reporter,
  note: NoteInput,
  { verifier, channel }: SavedOptions,
): SavedCheckpoint | undefined {
  const own = startReport();
  const checkpoint = openCheckpoint(own, note, { verifier, channel, prefix: 'saved ' });
  if (checkpoint !== undefined && !own.hasFailed()) return { ...checkpoint, where: note.where };
  report.copyFailures(own);
  return undefined;
}

/** A fault of a checkpoint as a prefix of the log. The tree grows to its size, so they must be sorted by size. */
function pastFailure(checkpoint: SavedCheckpoint, tree: TileTree, leafHashes: Buffer): Failure | undefined {
  const size = leafHashes.length / HASH_BYTES;
  const { where } = checkpoint;
  if (checkpoint.size > size) {
    const detail = 'The log is behind a checkpoint that was saved: entries that were signed are gone.';
    return { detail, where, expected: `at least ${checkpoint.size} entries`, found: `${size} entries` };
  }
  tree.append(leafHashes.subarray(tree.size * HASH_BYTES, checkpoint.size * HASH_BYTES));
  const root = tree.root();
  if (root.equals(checkpoint.root)) return undefined;
  return {
    detail: `The first ${checkpoint.size} entries are not those that were signed then: the past was changed.`,
    where,
    expected: checkpoint.root.toString('hex'),
    found: root.toString('hex'),
  };
}

/** The notes of a file, without adjacent duplicates. */
async function* notesIn(report: Reporter, file: string): AsyncGenerator<NoteInput> {
  if (!file.endsWith('.ndjson')) {
    yield { note: await readText(file), where: file };
    return;
  }
  let torn = 0;
  let last = '';
  for await (const { where, bytes } of readLines(file)) {
    const note = noteOf(bytes, where);
    if (note === undefined) torn += 1;
    else if (note !== last) yield { note, where };
    last = note ?? last;
  }
  if (torn > 0) report.note(`${file}: ${torn} lines hold no checkpoint, as when a crash cut one short; passed over.`);
}

function noteOf(line: Buffer, where: string): string | undefined {
  try {
    const value = parseJson(line, where);
    return isObject(value) && typeof value['note'] === 'string' ? value['note'] : undefined;
  } catch (error) {
    if (error instanceof UnreadableError) return undefined;
    throw error;
  }
}

/**
 * The file itself, or all files of a directory and of its folder for this channel, except hidden and temporary ones.
 */
async function filesAt(path: string, channel: string | undefined): Promise<string[]> {
  // A missing path counts as a file: reading it reports the error.
  if (!(await isDirectory(path))) return [path];
  const folder = channel === undefined ? undefined : join(path, channel);
  const folders = folder !== undefined && (await isDirectory(folder)) ? [path, folder] : [path];
  const files = await Promise.all(folders.map(filesIn));
  return files.flat();
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !/^\.|\.tmp$/.test(entry.name));
  return files.map(({ name }) => join(folder, name)).toSorted();
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoint, HASH_BYTES, type NoteVerifier, TileTree } from '@sealgate/merkle';
import { type LogLeaves, readLeaves } from './log-leaves.ts';
import { checkReceiptsInLog } from './log-receipts.ts';
import { checkUpperTiles, firstDifference, hashAt, leafTileOf, readLeafTiles } from './tile-directory.ts';
import { readText } from './read-file.ts';
import { type Report, type Reporter, startReport } from './report.ts';
import { checkSaved } from './saved-checkpoints.ts';
import { UnreadableError } from './shape.ts';
import { logOf, openCheckpoint, signersOf } from './signed-checkpoint.ts';

/** Default files of entries in a log directory. */
const LEAF_FILES = ['leaves.ndjson', 'records.ndjson'];
/** Or a folder of files, as in an archive: `<from>-<until>.ndjson`, in name order. */
const LEAF_FOLDER = 'records';

export interface LogInput {
  /**
   * Contains `checkpoint` and, as in C2SP tlog-tiles, `tile/`; optionally `leaves.ndjson`, `records.ndjson` or
   * `records/*.ndjson`.
   */
  readonly directory: string;
  readonly verifier: NoteVerifier;
  readonly channel?: string | undefined;
  /** NDJSON of the whole log, one entry per line, from index 0. */
  readonly leaves?: string | undefined;
  /** NDJSON files of receipts or write responses that must be in the log. */
  readonly receipts?: readonly string[] | undefined;
  /** Checkpoints saved elsewhere: files, or directories of them. */
  readonly saved?: readonly string[] | undefined;
}

/**
 * Recomputes a whole log: every tile, the root, and every entry if available, and reports the first difference. @throws
 * UnreadableError if there is nothing to recompute from.
 */
export async function checkLog(input: LogInput): Promise<Report> {
  const { directory, verifier } = input;
  const report = startReport();
  const where = join(directory, 'checkpoint');
  const note = await readText(where);
  const checkpoint = openCheckpoint(report, { note, where }, input);
  if (checkpoint === undefined) return report.finish('');
  const { size } = checkpoint;
  const channel = logOf(checkpoint, verifier);
  const sources = await readSources(report, input, { channel, size });
  compareRoots(report, checkpoint, sources);
  if (sources.tiles !== undefined) await checkUpperTiles(report, directory, sources.tiles);
  const leafHashes = sources.tiles ?? sources.leaves?.hashes.subarray(0, size * HASH_BYTES);
  if (leafHashes === undefined) report.skipped('receipts', 'Without the entries nothing can be looked up in the log.');
  else {
    for (const path of input.saved ?? []) await checkSaved(report, path, { verifier, channel, leafHashes });
    for (const path of input.receipts ?? []) await checkReceiptsInLog(report, path, { channel, leafHashes });
  }
  return report.finish(
    `All ${size} entries of ${checkpoint.origin} are those that ${signersOf(note, verifier)} signed, ` +
      `root ${checkpoint.root.toString('hex')}.`,
  );
}

interface Sources {
  readonly tiles: Buffer | undefined;
  readonly leaves: LogLeaves | undefined;
}

async function readSources(
  report: Reporter,
  { directory, leaves }: LogInput,
  { channel, size }: { channel: string | undefined; size: number },
): Promise<Sources> {
  const leafFile = leaves ?? (await firstThere(LEAF_FILES.map((name) => join(directory, name))));
  const leafFiles = leafFile === undefined ? await filesIn(join(directory, LEAF_FOLDER)) : [leafFile];
  const hasTiles = (await firstThere([join(directory, 'tile')])) !== undefined;
  // An empty log has no tiles and no entries, and its root is known.
  if (!hasTiles && leafFiles.length === 0 && size > 0) {
    const files = [...LEAF_FILES, `${LEAF_FOLDER}/`].join(' nor ');
    throw new UnreadableError(`${directory} has neither tile/ nor ${files}: nothing to recompute.`);
  }
  return {
    tiles: hasTiles || leafFiles.length === 0 ? await readLeafTiles(report, directory, size) : undefined,
    leaves: leafFiles.length === 0 ? undefined : await readLeaves(report, leafFiles, { channel, size }),
  };
}

/** Compares the roots of tiles and entries with the signed root, and reports the first entry in which they differ. */
function compareRoots(report: Reporter, { size, root }: Checkpoint, { tiles, leaves }: Sources): void {
  const covered = leaves?.hashes.subarray(0, size * HASH_BYTES);
  const rows = { tiles, entries: covered?.length === size * HASH_BYTES ? covered : undefined };
  const roots = Object.entries(rows).flatMap(([name, row]) =>
    row === undefined ? [] : [{ name, root: rootOver(row) }],
  );
  for (const computed of roots) {
    report.equal('root', {
      ok: `The ${computed.name} hash to the signed root.`,
      failed: `The ${computed.name} do not hash to the signed root.`,
      where: computed.name,
      expected: root.toString('hex'),
      found: computed.root.toString('hex'),
    });
  }
  if (tiles === undefined || leaves === undefined || covered === undefined) return;
  const index = firstDifference(tiles, covered);
  if (index === undefined) return;
  const right = roots.find((computed) => computed.root.equals(root))?.name;
  const judged = right === undefined ? 'neither hashes to the signed root' : `the ${right} hash to the signed root`;
  report.failed('leaves', {
    detail: `Entry ${index} is the first that disagrees with ${leafTileOf(index, size)}; ${judged}.`,
    where: leaves.places[index] ?? 'entries',
    expected: hashAt(tiles, index).toString('hex'),
    found: hashAt(covered, index).toString('hex'),
  });
}

function rootOver(leafHashes: Buffer): Buffer {
  const tree = TileTree.empty();
  tree.append(leafHashes);
  return tree.root();
}

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name.endsWith('.ndjson'));
  return files.sort().map((name) => join(folder, name));
}

async function firstThere(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const isThere = await stat(path).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

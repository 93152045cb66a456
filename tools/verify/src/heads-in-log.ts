import { join } from 'node:path';
import { DECISION_HEAD_TYPE, logName, receiptLeaf } from '@sealgate/envelope';
import type { Receipt } from '@sealgate/envelope';
import { bundlePath, entriesOf, leafHash, TILE_WIDTH, TileTree, tileWidth } from '@sealgate/merkle';
import type { NoteVerifier } from '@sealgate/merkle';
import { readBytesIfThere, readText } from './read-file.ts';
import type { Reporter } from './report.ts';
import { logOf, openCheckpoint } from './signed-checkpoint.ts';

/** A saved head: its receipt, and its location in the file. */
export interface SavedHead {
  readonly receipt: Receipt;
  readonly where: string;
}

interface HeadsInLogInput {
  /** A copy of the channel's log: `checkpoint`, and entry bundles as in C2SP tlog-tiles. */
  readonly directory: string;
  readonly verifier: NoteVerifier;
  readonly channel?: string | undefined;
  /** RFC 3339: older entries need no saved head. */
  readonly from?: string | undefined;
  readonly heads: readonly SavedHead[];
}

/**
 * Compares the saved heads with those in a whole log: a head in the log that was not saved was withheld, with all
 * decisions that it covers; a saved head that is not in the log is reported as well. The entries must hash to the
 * signed checkpoint. @throws UnreadableError for files that cannot be read.
 */
export async function compareHeads(report: Reporter, input: HeadsInLogInput): Promise<void> {
  const { directory, verifier, channel } = input;
  const where = join(directory, 'checkpoint');
  const wanted = channel === undefined ? { verifier } : { verifier, channel, anyEpoch: true };
  const checkpoint = openCheckpoint(report, { note: await readText(where), where }, { ...wanted, prefix: 'log ' });
  const log = checkpoint === undefined ? undefined : logOf(checkpoint, verifier);
  if (checkpoint === undefined || log === undefined) return;
  const { size, root } = checkpoint;
  const ofLog = input.heads.filter(({ receipt }) => logName(receipt.channel, receipt.epoch ?? 0) === log);
  const covered = new Map(ofLog.flatMap((head) => (head.receipt.index < size ? [[head.receipt.index, head]] : [])));
  const tree = TileTree.empty();
  const unseen = new Set(covered.values());
  for (let index = 0; index * TILE_WIDTH < size; index += 1) {
    const entries = await readBundle(report, directory, { index, width: tileWidth(0, index, size) });
    if (entries === undefined) return;
    tree.append(Buffer.concat(entries.map(leafHash)));
    for (const [place, entry] of entries.entries()) {
      const number = index * TILE_WIDTH + place;
      const head = covered.get(number);
      if (head !== undefined && leafHash(entry).equals(receiptLeaf(head.receipt))) unseen.delete(head);
      else tellWithheld(report, input, { number, entry, where: directory });
    }
  }
  report.equal('log root', {
    ok: `The ${size} entries of ${log} hash to the signed root.`,
    failed: `The entries of ${log} do not hash to the signed root.`,
    where: directory,
    expected: root.toString('hex'),
    found: tree.root().toString('hex'),
  });
  for (const { receipt, where: place } of unseen) {
    const detail = `Head ${receipt.id} was saved as entry ${receipt.index} of ${log}, and that entry is another one.`;
    report.failed('not in the log', { detail, where: place });
  }
  const [later, elsewhere] = [ofLog.length - covered.size, input.heads.length - ofLog.length];
  if (later > 0) report.note(`${later} heads are newer than the checkpoint of ${directory}, or there twice.`);
  if (elsewhere > 0) report.note(`${elsewhere} heads are in other logs than ${log}, and were not looked for in it.`);
}

/** An entry that is a head without a saved copy. */
function tellWithheld(
  report: Reporter,
  { from }: HeadsInLogInput,
  { number, entry, where }: { readonly number: number; readonly entry: Buffer; readonly where: string },
): void {
  const { type, id, at } = membersOf(entry);
  if (type !== DECISION_HEAD_TYPE) return;
  if (from !== undefined && typeof at === 'string' && Date.parse(at) < Date.parse(from)) return;
  const detail = `Head ${String(id)}, written at ${String(at)}, is entry ${number} of the log, and is missing from what was saved: it was withheld, with the decisions that it covers.`;
  report.failed('withheld', { detail, where });
}

function membersOf(entry: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(entry.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    // JSON.parse can only fail if this is not a record. Its hash is checked with the root.
    return {};
  }
}

/** The entries of a bundle, from the full one if the log has grown; undefined, with a failed step, if there is none. */
async function readBundle(
  report: Reporter,
  directory: string,
  bundle: { readonly index: number; readonly width: number },
): Promise<Buffer[] | undefined> {
  const paths = [bundlePath(bundle), bundlePath({ ...bundle, width: TILE_WIDTH })];
  for (const path of new Set(paths)) {
    const bytes = await readBytesIfThere(join(directory, path));
    const entries = bytes === undefined ? [] : splitBundle(bytes);
    if (entries.length >= bundle.width) return entries.slice(0, bundle.width);
  }
  const detail = `Entries ${bundle.index * TILE_WIDTH} and on are missing: withheld heads cannot be told.`;
  report.failed('log entries', { detail, where: join(directory, paths[0]!) });
  return undefined;
}

function splitBundle(bytes: Buffer): Buffer[] {
  try {
    return entriesOf(bytes).map((entry) => Buffer.from(entry));
  } catch {
    // entriesOf can only fail if the bundle ends within an entry.
    return [];
  }
}

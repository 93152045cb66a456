import {
  checkpointText,
  TileTree,
  type Checkpoint,
  type NoteVerifier,
  type RootSigner,
  type Tile,
} from '@sealgate/merkle';
import { textArray, type Database } from '@sealgate/storage';
import type { CheckedCheckpoint } from './checked-checkpoint.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import type { LogKeyStatements } from './log-keys.ts';
import { commitTrees, type SignedTree } from './tile-store.ts';

export interface IntegrateOptions {
  readonly sql: Database;
  /** Root keys, from which the keys of the logs are derived. */
  readonly signer: RootSigner;
  readonly verifier: NoteVerifier;
  /** Verifies with `verifier`. */
  readonly checked: CheckedCheckpoint;
  readonly logKeys: LogKeyStatements;
  readonly origin: string;
  /** Maximum leaves of one log per transaction. */
  readonly leavesAtOnce: number;
  readonly deadlineMs: number;
}

/** `size` leaves are in the signed tree, `head` are written; `note` is undefined if there was nothing to sign. */
export interface Integrated {
  readonly size: number;
  readonly head: number;
  readonly note: string | undefined;
}

/** A log and the checkpoint that this process last signed for it. */
interface LogWork {
  readonly log: string;
  readonly signedLast: Checkpoint | undefined;
}

interface BeginRow {
  log: string;
  head: string;
  checkpoint: string | null;
  integrated: string;
  levels: number[] | null;
  tiles: string[] | null;
  /** Concatenated tiles, since pg parses arrays character by character; `edge_bytes` holds their lengths. */
  edge: Buffer | null;
  edge_bytes: number[];
  first_leaf: string | null;
  last_leaf: string | null;
  leaf_count: string;
  leaves: Buffer | null;
}

const BEGIN_TEXT = `SELECT w.log, b.head, b.checkpoint, b.integrated, b.levels, b.tiles, b.first_leaf, b.last_leaf, b.leaf_count,
         b.leaves, (SELECT string_agg(t.hashes, ''::bytea ORDER BY t.at) FROM unnest(b.edge) WITH ORDINALITY t (hashes, at)) AS edge,
         ARRAY(SELECT octet_length(t.hashes) FROM unnest(b.edge) WITH ORDINALITY t (hashes, at) ORDER BY t.at) AS edge_bytes
    FROM unnest($1::text[]) w (log), LATERAL ledger.integrate_begin(w.log, $2) b`;

/**
 * Appends new leaves to the trees of logs and signs a checkpoint over each, in one transaction. Logs that are locked by
 * another process or have ended are left out of the result. Before signing, it checks that the stored tree is the one
 * signed last and that the leaves follow without a gap. A log that fails the check gets its LedgerCorruptError as
 * result and nothing is signed for it; the others continue.
 */
export async function integrateChannels(
  options: IntegrateOptions,
  work: readonly LogWork[],
): Promise<Map<string, Integrated | LedgerCorruptError>> {
  const { sql, deadlineMs, leavesAtOnce, logKeys } = options;
  let stated: string[] = [];
  const signedLast = new Map(work.map(({ log, signedLast: last }) => [log, last]));
  const results = await sql.transaction(
    async (transaction) => {
      const rows = await transaction.query<BeginRow>({
        text: BEGIN_TEXT,
        values: [textArray([...signedLast.keys()]), leavesAtOnce],
      });
      const done = new Map<string, Integrated | LedgerCorruptError>();
      const signed: SignedTree[] = [];
      for (const row of rows) {
        const next = corruptOr(() => nextTree(options, row, signedLast.get(row.log)));
        done.set(row.log, next instanceof LedgerCorruptError ? next : next.integrated);
        if ('signed' in next && next.signed !== undefined) signed.push(next.signed);
      }
      if (signed.length > 0) await transaction.query(commitTrees(signed));
      // Corrupt logs get no new key statement either.
      stated = logKeys.due([...done].flatMap(([log, result]) => (result instanceof LedgerCorruptError ? [] : [log])));
      await logKeys.write(transaction, stated);
      return done;
    },
    { deadlineMs },
  );
  logKeys.kept(stated);
  return results;
}

/** Concurrent groups: while one syncs its files, another uses the database. */
const GROUPS_AT_ONCE = 2;

/** Works in groups of at most `size`. Settles once all groups have ended. @throws the first error of a group. */
export async function inGroups<Row>(
  rows: readonly Row[],
  size: number,
  work: (group: readonly Row[]) => Promise<void>,
): Promise<void> {
  let next = 0;
  const workInTurn = async (): Promise<void> => {
    while (next < rows.length) {
      const from = next;
      next += size;
      await work(rows.slice(from, next));
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: GROUPS_AT_ONCE }, workInTurn));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}

function corruptOr<Value>(work: () => Value): Value | LedgerCorruptError {
  try {
    return work();
  } catch (error) {
    if (error instanceof LedgerCorruptError) return error;
    throw error;
  }
}

/** @throws LedgerCorruptError if the stored tree or leaves are not as expected; nothing is signed. */
function nextTree(
  options: IntegrateOptions,
  row: BeginRow,
  signedLast: Checkpoint | undefined,
): { readonly integrated: Integrated; readonly signed?: SignedTree } {
  const { log } = row;
  const [head, integrated] = [Number(row.head), Number(row.integrated)];
  const tree = openTree(options, log, row);
  checkNotBehind(log, tree, signedLast);
  checkLeaves(log, row, Math.min(head - integrated, options.leavesAtOnce));
  if (row.leaves === null) return { integrated: { size: integrated, head, note: undefined } };
  const full = tree.append(row.leaves);
  const [size, root] = [tree.size, tree.root()];
  const origin = `${options.origin}/${log}`;
  const note = options.signer.ofLog(origin).sign(checkpointText({ origin, size, root }));
  return {
    integrated: { size, head, note },
    signed: { log, tiles: [...full, ...tree.edge()], size, root, note },
  };
}

/** Opens the stored tree and verifies it against its signed checkpoint. */
function openTree({ checked }: IntegrateOptions, log: string, row: BeginRow): TileTree {
  const integrated = Number(row.integrated);
  if (Number(row.head) < integrated) {
    throw new LedgerCorruptError(log, `the head is ${row.head}, but ${integrated} records were signed`);
  }
  if (row.checkpoint === null) return TileTree.empty();
  const checkpoint = checked(log, row.checkpoint);
  if (checkpoint.size !== integrated) {
    throw new LedgerCorruptError(log, `the stored checkpoint covers ${checkpoint.size} records, not ${integrated}`);
  }
  const tree = treeOf(log, integrated, edgeOf(row));
  if (!tree.root().equals(checkpoint.root)) {
    throw new LedgerCorruptError(log, 'a tile of the right edge disagrees with the signed checkpoint');
  }
  return tree;
}

/** Detects a database that was restored while this process was running. */
function checkNotBehind(log: string, tree: TileTree, signedLast: Checkpoint | undefined): void {
  if (signedLast === undefined || tree.size > signedLast.size) return;
  if (tree.size < signedLast.size || !tree.root().equals(signedLast.root)) {
    throw new LedgerCorruptError(
      log,
      `the database was rolled back below the ${signedLast.size} records that were signed`,
    );
  }
}

function edgeOf(row: BeginRow): Tile[] {
  let end = 0;
  return (row.levels ?? []).map((level, position) => {
    const start = end;
    end += row.edge_bytes[position]!;
    const hashes = row.edge!.subarray(start, end);
    return { level, index: Number(row.tiles![position]), width: hashes.length / 32, hashes };
  });
}

function treeOf(log: string, size: number, edge: Tile[]): TileTree {
  try {
    return TileTree.from(size, edge);
  } catch (cause) {
    throw new LedgerCorruptError(log, 'a tile of the right edge is missing or has the wrong width', { cause });
  }
}

function checkLeaves(log: string, row: BeginRow, expected: number): void {
  const first = Number(row.integrated);
  const found = Number(row.leaf_count);
  const gapless = found === 0 || (Number(row.first_leaf) === first && Number(row.last_leaf) === first + expected - 1);
  if (found !== expected || !gapless || (row.leaves?.length ?? 0) !== expected * 32) {
    throw new LedgerCorruptError(log, `${expected} records should follow record ${first}, but ${found} do`);
  }
}

import type { Tile, TileId } from '@sealgate/merkle';
import { byteaArray, int4Array, int8Array, textArray, type Sql, type Statement } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';

const HASH_BYTES = 32;

/**
 * Returns a function that reads tiles of a log in one query, cut to the requested width: a stored tile may have grown
 * since. It throws LedgerCorruptError for a missing tile.
 */
export function tileReader(
  sql: Sql,
  log: string,
  deadlineMs: number,
): (wanted: readonly TileId[]) => Promise<Buffer[]> {
  return async (wanted) => {
    const rows = await readLedger<{ ordinal: string; hashes: Buffer }>(
      sql,
      {
        name: 'ledger tiles',
        text: 'SELECT ordinal, hashes FROM ledger.tiles($1, $2::int4[]::int2[], $3)',
        values: [log, int4Array(wanted.map(({ level }) => level)), int8Array(wanted.map(({ index }) => index))],
      },
      deadlineMs,
    );
    const found = new Map(rows.map((row) => [Number(row.ordinal) - 1, row.hashes]));
    return wanted.map(({ level, index, width }, position) => {
      const hashes = found.get(position);
      if (hashes === undefined || hashes.length < width * HASH_BYTES) {
        throw new LedgerCorruptError(log, `tile ${level}/${index} is missing or too short`);
      }
      return hashes.subarray(0, width * HASH_BYTES);
    });
  };
}

/** A tree that has grown: its new tiles and checkpoint. */
export interface SignedTree {
  readonly log: string;
  readonly tiles: readonly Tile[];
  readonly size: number;
  readonly root: Buffer;
  readonly note: string;
}

/** The statement that writes tiles and checkpoints of logs in the caller's transaction. */
export function commitTrees(trees: readonly SignedTree[]): Statement {
  const tiles = trees.flatMap(({ tiles: its }, position) => its.map((tile) => ({ ...tile, tree: position + 1 })));
  return {
    text: 'SELECT ledger.integrate_commit($1, $2, $3, $4, $5, $6::int4[]::int2[], $7, $8)',
    values: [
      textArray(trees.map(({ log }) => log)),
      int8Array(trees.map(({ size }) => size)),
      byteaArray(trees.map(({ root }) => root)),
      textArray(trees.map(({ note }) => note)),
      int4Array(tiles.map(({ tree }) => tree)),
      int4Array(tiles.map(({ level }) => level)),
      int8Array(tiles.map(({ index }) => index)),
      byteaArray(tiles.map(({ hashes }) => hashes)),
    ],
  };
}

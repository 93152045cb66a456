import { declarationLeaf, receiptLeaf } from '@sealgate/envelope';
import type { Declaration, Receipt, RecordProof } from '@sealgate/envelope';
import { TileTree, checkpointText, inclusionPath, noteSigner, tilePath } from '@sealgate/merkle';
import { CHANNEL, at, sampleLog } from './sample-log.ts';

/** Four signed entries, two of them lost; epoch 1 continues with one entry after the declaration. */
export const log = sampleLog(4);
export const ORIGIN = log.checkpoint().split('\n', 1)[0]!;
export const STATEMENT: Declaration = {
  type: 'sealgate.declaration.v1',
  network: 'demo',
  channel: CHANNEL,
  epoch: 1,
  origin: `${ORIGIN}/e1`,
  lost: [{ epoch: 0, lostFrom: 2, lostUntil: 4, checkpoint: log.checkpoint(4), surviving: log.checkpoint(2) }],
  reason: 'Restored the dump of Monday.',
  actor: 'admin:01234567',
  at: '2030-01-02T03:04:05.678Z',
};
export const LATER: Receipt = { ...at(log.entries, 2).receipt, transactionId: 'tx-later', index: 1, epoch: 1 };

/** A log of a statement and one record. */
export async function epochOf(statement: Declaration) {
  const leaves = [declarationLeaf(statement), receiptLeaf(LATER)];
  const tree = TileTree.empty();
  const tiles = [...tree.append(Buffer.concat(leaves)), ...tree.edge()];
  const stored = new Map(tiles.map((tile) => [tilePath(tile), tile.hashes]));
  const pathOf = async (index: number) => {
    const path = await inclusionPath(index, 2, (wanted) =>
      Promise.resolve(wanted.map((tile) => stored.get(tilePath(tile)) ?? Buffer.alloc(0))),
    );
    return path.map((hash) => hash.toString('hex'));
  };
  const text = checkpointText({ origin: `${ORIGIN}/e1`, size: 2, root: tree.root() });
  const checkpoint = noteSigner(log.key.privateKey).sign(text);
  const proof: RecordProof = {
    channel: CHANNEL,
    index: 1,
    leafHash: leaves[1]!.toString('hex'),
    treeSize: 2,
    inclusionPath: await pathOf(1),
    checkpoint,
    epoch: 1,
    origin: `${ORIGIN}/e1`,
    declaration: { statement, inclusionPath: await pathOf(0) },
  };
  const declaration = { statement, inclusionPath: await pathOf(0), treeSize: 2, checkpoint };
  return { checkpoint, proof, declaration, tiles: stored, leaves };
}

import { receiptLeaf, type Receipt, type RecordProof } from '@sealgate/envelope';
import { inclusionPath, parseCheckpoint, verifyInclusion, type TileId } from '@sealgate/merkle';
import type { ArchiveFiles } from './archive-files.ts';
import { ArchiveFileError, type ArchivedRecord } from './archived-record.ts';

/**
 * The receipt of a record and its proof against the checkpoint of the archive, from the files alone. The checkpoint's
 * signature is not verified.
 * @throws ArchiveFileError if the files do not match
 */
export async function proveArchived(
  files: ArchiveFiles,
  { data: _, ...receipt }: ArchivedRecord,
): Promise<{ receipt: Receipt; proof: RecordProof }> {
  const { channel, index } = receipt;
  const checkpoint = await files.checkpoint(channel);
  const { size, root } = parseCheckpoint(checkpoint);
  const leafHash = receiptLeaf(receipt);
  const readTiles = (tiles: readonly TileId[]) => Promise.all(tiles.map((tile) => files.tile(channel, tile)));
  const path = index < size ? await inclusionPath(index, size, readTiles) : [];
  if (!verifyInclusion({ leafHash, index, size, path, root }))
    throw new ArchiveFileError(`record ${index} is not one that the checkpoint of the archive is over`, { index });
  const inclusion = path.map((hash) => hash.toString('hex'));
  const proof = {
    channel,
    index,
    leafHash: leafHash.toString('hex'),
    treeSize: size,
    inclusionPath: inclusion,
    checkpoint,
  };
  return { receipt, proof };
}

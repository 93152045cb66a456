// Everything needed to verify a log, in Node and in browsers.
export { EMPTY_ROOT, HASH_BYTES, leafHash, nodeHash, TileNodes } from './tree-hash.ts';
export {
  TILE_WIDTH,
  bundleOf,
  bundlePath,
  entriesOf,
  parseBundlePath,
  parseTilePath,
  tilePath,
  tileWidth,
} from './tile.ts';
export type { BundleId, Tile, TileId } from './tile.ts';
export { TileTree } from './tile-tree.ts';
export { consistencyPath, inclusionPath } from './proof-paths.ts';
export { rootFromInclusion, rootsFromConsistency, verifyConsistency, verifyInclusion } from './verify-proof.ts';
export { parseVerifierKey, verifierKeyText } from './note-key.ts';
export { anyOf, noteVerifier, parseNote, parseSignatures, signatureLine } from './note.ts';
export type { NoteVerifier } from './note.ts';
export { checkLogKeys, logKeysText, parseLogKeys, statedVerifier } from './log-keys.ts';
export type { LogKeys, StatedKey, StatedVerifier } from './log-keys.ts';
export { checkpointText, parseCheckpoint } from './checkpoint.ts';
export type { Checkpoint } from './checkpoint.ts';
export { cosignatureVerifier } from './cosignature.ts';
export { checkPolicy, parsePolicy } from './log-policy.ts';
export type { LogPolicy, PolicyWitness } from './log-policy.ts';
export { LOG_PROOF_TYPE, logProofText, parseLogProof } from './log-proof.ts';
export type { LogProof } from './log-proof.ts';
export { ed25519Key, settleSignatures } from '#ed25519';

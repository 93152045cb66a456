import type { Bytes } from '@sealgate/json';
import { decodeBase64 } from './note-key.ts';
import { HASH_BYTES } from './tree-hash.ts';

/** Media type of a proof, in Accept and Content-Type. */
export const LOG_PROOF_TYPE = 'text/x.tlog-proof';

const HEADER = 'c2sp.org/tlog-proof@v1';
/** Maximum size of a proof file: a note and the lines above it. */
const MAX_PROOF_CHARACTERS = 1_200_000;
/** Maximum path length of a tree whose size is a safe integer. */
const MAX_PATH = 53;

/** A self-contained proof (C2SP tlog-proof): index, inclusion path and signed checkpoint. */
export interface LogProof {
  readonly index: number;
  /** Sibling hashes, leaf to root. */
  readonly path: readonly Bytes[];
  /** The signed note. */
  readonly checkpoint: string;
  /** Application data; not covered by any signature. */
  readonly extra?: Bytes;
}

/** The text of a proof file. Throws when a part is invalid. */
export function logProofText({ index, path, checkpoint, extra }: LogProof): string {
  if (!Number.isSafeInteger(index) || index < 0) throw new Error(`No entry has the index ${index}.`);
  for (const hash of path) checkHash(hash);
  const extraLine = extra === undefined ? [] : [`extra ${extra.toString('base64')}`];
  const lines = [HEADER, ...extraLine, `index ${index}`, ...path.map((hash) => hash.toString('base64'))];
  return `${lines.join('\n')}\n\n${checkpoint}`;
}

/**
 * Parses a proof and verifies NOTHING: check the checkpoint with `checkPolicy` and the path with `verifyInclusion`.
 * Throws an Error that describes the fault.
 */
export function parseLogProof(text: string): LogProof {
  if (text.length > MAX_PROOF_CHARACTERS)
    throw new Error(`A proof is at most ${MAX_PROOF_CHARACTERS} characters long.`);
  const blank = text.indexOf('\n\n');
  if (blank < 0) throw new Error('A proof has an empty line above its checkpoint.');
  const [header, ...lines] = text.slice(0, blank).split('\n');
  if (header !== HEADER) throw new Error(`A proof begins with ${HEADER}.`);
  const extra = lines[0]?.startsWith('extra ') === true ? extraOf(lines.shift()!) : undefined;
  const [, digits] = /^index (0|[1-9][0-9]{0,15})$/.exec(lines.shift() ?? '') ?? [];
  const index = Number(digits);
  if (!Number.isSafeInteger(index)) throw new Error('A proof has a line index, with a decimal without leading zeroes.');
  if (lines.length > MAX_PATH) throw new Error(`A proof has at most ${MAX_PATH} hashes.`);
  const path = lines.map((line) => checkHash(decodeBase64(line)));
  return { index, path, checkpoint: text.slice(blank + 2), ...(extra === undefined ? {} : { extra }) };
}

function extraOf(line: string): Bytes {
  const extra = decodeBase64(line.slice('extra '.length));
  if (extra === undefined) throw new Error('The line extra of a proof is base64.');
  return extra;
}

function checkHash(hash: Bytes | undefined): Bytes {
  if (hash?.length !== HASH_BYTES) throw new Error(`Each hash of a proof is the base64 of ${HASH_BYTES} bytes.`);
  return hash;
}

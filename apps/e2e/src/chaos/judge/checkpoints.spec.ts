import { createPublicKey, generateKeyPairSync, hash, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Known, Seen } from '../history.ts';
import { checkpoints } from './checkpoints.ts';
import type { LedgerRecord } from './ledger-records.ts';
import { MerkleRoots } from './merkle-roots.ts';
import { noteKey, readCheckpoint } from './signed-note.ts';
import { verdictOf } from './testing/lines.ts';

const sha256 = (...parts: Buffer[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer');
/** RFC 6962, section 2.1, by its definition: the largest power of two below the number is at the left. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length < 2) return leaves[0] ?? sha256();
  let left = 1;
  while (left * 2 < leaves.length) left *= 2;
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, left)), rootOf(leaves.slice(left)));
}

const leaves = Array.from({ length: 21 }, (_, index) => sha256(Buffer.of(0), Buffer.of(index)));
const { privateKey } = generateKeyPairSync('ed25519');
const name = 'ledger.test/sealgate';
const point = Buffer.concat([
  Buffer.of(1),
  createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32),
]);
const id = sha256(Buffer.from(`${name}\n`), point).subarray(0, 4);
const known: Known = {
  is: 'known',
  verifierKeys: [`${name}+${id.toString('hex')}+${point.toString('base64')}`],
  subscriptions: [],
};

function seen(
  size: number,
  {
    root = rootOf(leaves.slice(0, size)),
    origin = `${name}/acme.main`,
    ...more
  }: Partial<Seen> & { root?: Buffer; origin?: string } = {},
): Seen {
  const text = `${origin}\n${size}\n${root.toString('base64')}\n`;
  const signature = Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]).toString('base64');
  return { is: 'checkpoint', channel: 'acme.main', atMs: 0, text: `${text}\n— ${name} ${signature}\n`, ...more };
}

const records = leaves.map((leaf, index): LedgerRecord => ({
  ...{ channel: 'acme.main', network: 'acme', index, id: `${index}`, type: 'a', owner: null, data: '{}', extra: null },
  ...{ transactionId: '', leafHash: leaf.toString('hex'), leafOfColumns: leaf.toString('hex') },
}));
const broken = async (...lines: Seen[]) => (await verdictOf(checkpoints(), [known, ...lines], records)).broken;

describe('MerkleRoots', () => {
  it('has the root of every size, as RFC 6962 defines it', () => {
    const tree = new MerkleRoots();
    expect(tree.root()).toBe('47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=');
    for (const [index, leaf] of leaves.entries()) {
      tree.add(leaf);
      expect(tree.root()).toBe(rootOf(leaves.slice(0, index + 1)).toString('base64'));
    }
  });
});

describe('readCheckpoint', () => {
  // The example of C2SP signed-note, "Verifier keys": no checkpoint, but signed.
  const key = noteKey('example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k');
  const note =
    'This is an example message.\n\n' +
    '— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n';

  it('accepts the signature of the specification, and none over another text', () => {
    expect(readCheckpoint(note, [key])).toBe('is no checkpoint');
    expect(readCheckpoint(note.replace('an example', 'another'), [key])).toBe('has no valid signature by a pinned key');
    expect(readCheckpoint(note, [])).toBe('has no valid signature by a pinned key');
  });
});

describe('checkpoints', () => {
  it('are consistent where each root is that of the first rows', async () => {
    const lines = [seen(0), seen(1), seen(5), seen(16), seen(21), seen(5)];
    expect(await verdictOf(checkpoints(), [known, ...lines], records)).toMatchObject({ judged: 6, broken: [] });
  });

  it('are broken by another root', async () => {
    expect(await broken(seen(5), seen(6, { root: rootOf(leaves.slice(0, 5)) }))).toEqual([
      'line 3: the root of acme.main at 6 is not that of its rows',
    ]);
    expect(await broken(seen(0, { root: leaves[0]! }))).toHaveLength(1);
  });

  it('are broken by a size that has no rows', async () => {
    expect(await broken(seen(22, { root: leaves[0]! }))).toEqual([
      'line 2: acme.main was signed at 22 and has 21 rows',
    ]);
  });

  it('are broken by another origin, and by another signer', async () => {
    expect(await broken(seen(5, { origin: `${name}/other.main` }))).toHaveLength(1);
    const { text } = seen(5);
    expect(await broken({ ...seen(5), text: text.replace('\n5\n', '\n6\n') })).toEqual([
      'line 2: the checkpoint of acme.main has no valid signature by a pinned key',
    ]);
  });

  it('are broken by a replica that shows less than it had shown before it was asked', async () => {
    const view = { from: 'd/0', startedMs: 0, atMs: 10 };
    expect(
      await broken(seen(9, view), seen(5, { ...view, startedMs: 5, atMs: 15 }), seen(9, { ...view, startedMs: 20 })),
    ).toEqual([]);
    expect(await broken(seen(9, view), seen(5, { ...view, startedMs: 11, atMs: 15 }))).toEqual([
      'line 3: d/0 showed acme.main smaller than before',
    ]);
  });

  it('are broken by a gap, and by a row that is not what its leaf was made of', async () => {
    const check = async (rows: LedgerRecord[]) => (await verdictOf(checkpoints(), [known], rows)).broken;
    expect(await check([records[0]!, records[2]!])).toEqual(['acme.main: index 1 has no row']);
    expect(await check([{ ...records[0]!, leafOfColumns: 'other' }])).toEqual([
      'acme.main/0: the row is not what its leaf was made of',
    ]);
  });
});

import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from '@jest/globals';
import { dataHashOf, receiptEntry, receiptLeaf } from '@sealgate/envelope';
import type { Receipt, RecordProof } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import {
  TileTree,
  bundleOf,
  bundlePath,
  checkpointText,
  consistencyPath,
  generateNoteKey,
  inclusionPath,
  noteSigner,
  noteVerifier,
  tilePath,
  tileWidth,
} from '@sealgate/merkle';
import type { TileId } from '@sealgate/merkle';

export const CHANNEL = 'demo.main';
const LOG_NAME = 'log.example/ledger';

interface SampleEntry {
  readonly receipt: Receipt;
  readonly data: JsonValue;
}

type SampleKey = ReturnType<typeof generateNoteKey>;

/** A small log with its own key, in the ledger's format: tests verify it and tamper with it. */
export type SampleLog = ReturnType<typeof sampleLog>;

/** A log of `count` entries; `from` continues the entries and key of another one, for a common prefix. */
export function sampleLog(count: number, from?: { key: SampleKey; entries: readonly SampleEntry[] }) {
  const key: SampleKey = from?.key ?? generateNoteKey(LOG_NAME);
  const old = from?.entries ?? [];
  const entries = [...old, ...Array.from({ length: count - old.length }, (_, i) => sampleEntry(old.length + i))];
  const leafHashes = entries.map(({ receipt }) => receiptLeaf(receipt));
  const tiles = (size: number) => {
    const tree = TileTree.empty();
    const full = tree.append(Buffer.concat(leafHashes.slice(0, size)));
    return { tree, tiles: new Map([...full, ...tree.edge()].map((tile) => [tilePath(tile), tile.hashes])) };
  };
  const reader = (size: number) => {
    const stored = tiles(size).tiles;
    return (wanted: readonly TileId[]) =>
      Promise.resolve(wanted.map((tile) => stored.get(tilePath(tile)) ?? Buffer.alloc(0)));
  };
  const checkpoint = (size = count, origin = `${LOG_NAME}/${CHANNEL}`): string => {
    const root = tiles(size).tree.root();
    return noteSigner(key.privateKey).sign(checkpointText({ origin, size, root }));
  };
  return {
    key,
    entries,
    leafHashes,
    checkpoint,
    verifier: noteVerifier(key.verifierKey),
    tiles: (size = count) => tiles(size).tiles,
    consistency: (oldSize: number, newSize = count) => consistencyPath(oldSize, newSize, reader(newSize)),
    /** The served proof of an entry. */
    async proofOf(index: number, size = count): Promise<{ receipt: Receipt; proof: RecordProof }> {
      const path = await inclusionPath(index, size, reader(size));
      const leafHash = at(leafHashes, index).toString('hex');
      const inclusion = path.map((hash) => hash.toString('hex'));
      return {
        receipt: at(entries, index).receipt,
        proof: {
          channel: CHANNEL,
          index,
          leafHash,
          treeSize: size,
          inclusionPath: inclusion,
          checkpoint: checkpoint(size),
        },
      };
    },
    /** The gateway's response to the write of these entries. */
    answerOf(...indexes: number[]) {
      const records = indexes.map((index) => {
        const { id, transactionId, channel } = at(entries, index).receipt;
        return { id, transactionId, channel, index, leafHash: at(leafHashes, index).toString('hex') };
      });
      const transactionIds = [...new Set(records.map(({ transactionId }) => transactionId))];
      const summary = { total: records.length, succeeded: records.length, failed: 0 };
      return { transactionIds, summary, eventId: 'evt_1', records, strippedFields: 0 };
    },
    /** Lines of the whole log, with content. */
    lines: () => entries.map(({ receipt, data }) => JSON.stringify({ ...receipt, data })),
  };
}

const directories: string[] = [];
afterAll(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))));

/** A new directory with the given files, perhaps in folders; removed after the tests of the file. */
export async function directoryOf(files: ReadonlyMap<string, string | Uint8Array>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sealgate-verify-'));
  directories.push(directory);
  for (const [path, content] of files) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  return directory;
}

/** A log as files: the checkpoint, its tiles, and optionally its entries. */
export function filesOf(log: SampleLog, { leaves = false } = {}): Map<string, string | Uint8Array> {
  const files = new Map<string, string | Uint8Array>([['checkpoint', log.checkpoint()], ...log.tiles()]);
  if (leaves) files.set('leaves.ndjson', `${log.lines().join('\n')}\n`);
  return files;
}

/** The bytes with one bit flipped. */
export function flipped(bytes: Uint8Array | string | undefined, byte: number): Buffer {
  const copy = Buffer.from(bytes ?? '');
  copy.writeUInt8(copy.readUInt8(byte) ^ 1, byte);
  return copy;
}

export function at<T>(list: readonly T[], index: number): T {
  const value = list.at(index);
  if (value === undefined) throw new Error(`There is no item ${index}.`);
  return value;
}

function sampleEntry(index: number): SampleEntry {
  const data = { order: index, note: 'Zürich «€»' };
  const extra = index % 3 === 0 ? { source: 'till' } : null;
  const salt = randomBytes(32);
  const receipt = {
    network: 'demo',
    channel: CHANNEL,
    id: `order-${index}`,
    type: 'demo.order',
    owner: index % 2 === 0 ? null : 'Ada',
    dataHash: dataHashOf(salt, data, extra),
    salt: salt.toString('hex'),
    extra,
    transactionId: `tx-${Math.floor(index / 2)}`,
    at: '2026-01-01T00:00:00.000Z',
    index,
  };
  return { receipt, data };
}

export const entryOf = ({ entries }: SampleLog, index: number) => Buffer.from(receiptEntry(at(entries, index).receipt));

/** The responses of a log of this size, by path. */
export function servedLog(log: SampleLog, size = log.entries.length): Map<string, Buffer> {
  const files = new Map<string, Buffer>([['checkpoint', Buffer.from(log.checkpoint(size))]]);
  for (const [path, hashes] of log.tiles(size)) files.set(path, Buffer.from(hashes));
  for (let index = 0; index * 256 < size; index += 1) {
    const width = tileWidth(0, index, size);
    const entries = Array.from({ length: width }, (_, place) => entryOf(log, index * 256 + place));
    files.set(bundlePath({ index, width }), bundleOf(entries));
  }
  return files;
}

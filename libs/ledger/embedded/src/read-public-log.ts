import { logName, parseLogName } from '@sealgate/envelope';
import { entriesOf, HASH_BYTES, tileWidth, type BundleId, type NoteVerifier, type TileId } from '@sealgate/merkle';
import { channelOfLog } from './epochs.ts';
import { countArchived, findEntries } from './find-entries.ts';
import { findLogKeys } from './log-keys.ts';
import {
  findCheckpoint,
  findPublished,
  proveDeclaration,
  unavailableIfCorrupt,
  type Covering,
  type ProvedDeclaration,
  type ProveOptions,
} from './prove-record.ts';
import { SharedReads } from './shared-reads.ts';
import { TileCache, type KeptBytes } from './tile-cache.ts';
import { tileReader } from './tile-store.ts';

/** A bundle of entries as bytes (C2SP tlog-tiles). */
export interface EntryBundle {
  readonly bytes: Buffer;
  /** Whether the same Buffer is returned again, so that what is derived from it may be kept beside it. */
  readonly isKept: boolean;
}

/** What outsiders read of a log, at any rate: see the README. */
export interface PublicLogReads {
  /**
   * The published checkpoint of a channel or one of its logs (`acme.main/e1`), with cosignatures if there are
   * witnesses. For an ended log its final one. Never older than one that was answered before, by any process.
   */
  checkpoint(log: string): Promise<string | undefined>;
  /**
   * The statement of a log's signing keys, a note of the root key (`log-keys.ts`). Undefined before its first
   * checkpoint.
   */
  logKeys(log: string): Promise<string | undefined>;
  /** The declaration of an epoch; undefined if the channel has no such epoch, or it is not signed yet. */
  declaration(channel: string, epoch: number): Promise<ProvedDeclaration | undefined>;
  /** The hashes of a tile of a log; undefined if the newest checkpoint has no such tile. */
  tile(log: string, tile: TileId): Promise<Buffer | undefined>;
  /**
   * A bundle of a log's entries, with id, type and owner of each record, each verified against its signed leaf;
   * undefined if the newest checkpoint does not cover it.
   *
   * @throws LedgerUnavailableError, also if an entry does not match its leaf; LedgerForbiddenError.
   * @throws LedgerArchivedError if records are in an archive that this process cannot read.
   */
  entries(log: string, bundle: BundleId): Promise<EntryBundle | undefined>;
}

interface PublicLogOptions extends ProveOptions {
  readonly verifier: NoteVerifier | undefined;
  /** For tests; see TileCache. */
  readonly cacheBytes?: number | undefined;
}

/** Bundles are compressed with br and gzip, and both forms are kept as long as the bundle. */
const BUNDLE_WEIGHT = 3;
const TILE_WEIGHT = 1;

/**
 * Tiles and bundles of a width never change, so they come from memory. Whether a log has them is read again every
 * second, together with the right of this role: nothing is served that the database would have refused a second ago.
 */
export function publicLogReads(options: PublicLogOptions): PublicLogReads {
  const { epochs, now, sql, deadlineMs } = options;
  const cache = new TileCache({ now, ...(options.cacheBytes === undefined ? {} : { maxBytes: options.cacheBytes }) });
  const published = new SharedReads({ now, read: (log) => findPublished(options, log) });
  const signed = new SharedReads({
    now,
    read: (log) => findCheckpoint(options, log),
    onRead: (after: Covering | undefined, before: Covering | undefined) => {
      if (before !== undefined && !mayFollow(before, after)) cache.clear();
    },
  });
  const archived = new SharedReads({ now, read: (channel) => countArchived(options, channel) });
  const keys = new SharedReads({ now, read: (log) => findLogKeys(options, log) });
  const declarations = new SharedReads({
    now,
    read: (log) => proveDeclaration(options, channelOfLog(log), parseLogName(log)!.epoch),
  });

  /** Width of a tile under a checkpoint that is at most a second old, or newer if that one does not reach as far. */
  const widthOf = async (log: string, { level, index, width }: TileId): Promise<number> => {
    const widthUnder = (of: Covering | undefined) => tileWidth(level, index, of?.checkpoint.size ?? 0);
    return widthUnder(await signed.recent(log, (of) => widthUnder(of) >= width));
  };
  const readTile = async (log: string, tile: TileId): Promise<KeptBytes> => {
    const [hashes] = await tileReader(sql, log, deadlineMs)([tile]);
    return { bytes: owned(hashes!), width: tile.width, archived: 0 };
  };
  const readBundle = async (log: string, { index, width }: BundleId): Promise<KeptBytes> => {
    const leaves = { level: 0, index, width };
    const tile = cache.find(keyOf('tile/0', log, index), isAsWideAs(width)) ?? (await readTile(log, leaves));
    const of = { index, width, leaves: tile.bytes.subarray(0, width * HASH_BYTES) };
    const { bundle, archived: inFiles } = await findEntries(options, log, of);
    return { bytes: owned(bundle), width, archived: inFiles };
  };

  return {
    checkpoint: async (log) => (await epochs.fresh()).lastCheckpoint(log) ?? (await published.fresh(log))?.note,
    logKeys: (log) => keys.fresh(log),
    declaration: (channel, epoch) => declarations.fresh(logName(channel, epoch)),
    tile: (log, tile) =>
      orUnavailable(async () => {
        const { level, index, width } = tile;
        const there = await widthOf(log, tile);
        if (there < width) return undefined;
        const kept = await cache.get(keyOf(`tile/${level}`, log, index), {
          isEnough: isAsWideAs(width),
          read: () => readTile(log, { level, index, width: there }),
          weight: TILE_WEIGHT,
        });
        return kept.width === width ? kept.bytes : kept.bytes.subarray(0, width * HASH_BYTES);
      }),
    entries: (log, { index, width }) =>
      orUnavailable(async () => {
        const there = await widthOf(log, { level: 0, index, width });
        if (there < width) return undefined;
        // Also asks whether this role may read the channel.
        const inFiles = await archived.recent(channelOfLog(log));
        const kept = await cache.get(keyOf('entries', log, index), {
          // Bundles are read again after an archival: a process without the files answers that, not the content.
          isEnough: (bundle) => bundle.width >= width && bundle.archived >= inFiles,
          read: () => readBundle(log, { index, width: there }),
          weight: BUNDLE_WEIGHT,
        });
        return kept.width === width
          ? { bytes: kept.bytes, isKept: true }
          : { bytes: firstEntries(kept.bytes, width), isKept: false };
      }),
  };
}

const keyOf = (kind: string, log: string, index: number): string => `${kind}/${index} ${log}`;

const isAsWideAs =
  (width: number) =>
  (kept: KeptBytes): boolean =>
    kept.width >= width;

/** False if a log shrank or has another root: the database was restored or replaced, or somebody edited it. */
function mayFollow({ checkpoint: before }: Covering, after: Covering | undefined): boolean {
  if (after === undefined || after.checkpoint.size < before.size) return false;
  return after.checkpoint.size > before.size || after.checkpoint.root.equals(before.root);
}

/** The first entries of a bundle, as a view of it. */
function firstEntries(bundle: Buffer, count: number): Buffer {
  const last = entriesOf(bundle)[count - 1]!;
  return bundle.subarray(0, last.byteOffset - bundle.byteOffset + last.length);
}

/** A copy if the bytes are part of a larger allocation, which would be kept with them. */
function owned(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** An outage of the log: it is served again once the channel is restored. */
async function orUnavailable<Value>(read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    throw unavailableIfCorrupt(error);
  }
}

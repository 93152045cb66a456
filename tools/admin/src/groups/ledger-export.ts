import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  bundlePath,
  type Checkpoint,
  entriesOf,
  leafHash,
  noteVerifier,
  parseCheckpoint,
  type Tile,
  TILE_WIDTH,
  tilePath,
  TileTree,
  tileWidth,
} from '@sealgate/merkle';
import { Option } from 'commander';
import { boundedBody } from '../admin-api.ts';
import type { CodeCommand } from '../command-spec.ts';
import { errorCode, EXIT_CODES, UnreachableError, UnwritableError, UsageError } from '../errors.ts';

interface ExportOptions {
  readonly key?: readonly string[];
  readonly bearerFile?: string;
}

export const exportLog: CodeCommand<ExportOptions> = {
  summary: 'Copy a log to a folder for any file server: checkpoint, tiles and entries; a later run continues it',
  details:
    'URL is that of one log (C2SP tlog-tiles) that serves entries, such as https://peer.example.com/ledger/acme.main. Only checkpoint and entries are fetched; the tiles are built from them and must give the signed root. A log that does not extend the copy in the folder is rejected with exit code 1. The checkpoint is written last, so that an interrupted run leaves the earlier copy valid. Serve partial tiles and the checkpoint with a short cache lifetime, everything else as immutable.',
  examples: [
    'sealgate ledger export https://peer.example.com/ledger/acme.main ./mirror --key log.example+00000000+AAAA',
    'sealgate ledger export https://peer.example.com/ledger/acme.main ./mirror --key log.vkey --bearer-file peer.key',
  ],
  options: [
    new Option(
      '--key <vkey>',
      'the pinned verifier key of the log, or a file with one per line; repeatable: a signature by any counts. Without it no signature is checked',
    ).argParser((key: string, before: readonly string[] = []) => [...before, key]),
    new Option('--bearer-file <file>', 'a file with the key of the ledger peer, if the log is not public'),
  ],
  isOffline: () => true,
  run: async (session, [url = '', dir = ''], { key, bearerFile }) => {
    try {
      const bearer = bearerFile === undefined ? undefined : await bearerIn(bearerFile);
      const { from, size, origin } = await copyLog({ url, dir, verify: await verifierOf(key), bearer });
      if (key === undefined) session.note('sealgate: without --key no signature was checked.\n');
      session.say(`${dir} contains the ${size} entries of ${origin}, ${size - from} of them new.`);
      return EXIT_CODES.done;
    } catch (error) {
      if (!(error instanceof ExportError)) throw error;
      session.note(`sealgate: ${error.message}\n`);
      return EXIT_CODES.refused;
    }
  },
};

/** The log is invalid, or contradicts the folder. Only entries and tiles of it were written. */
class ExportError extends Error {
  override readonly name = 'ExportError';
}

async function bearerIn(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    throw new UsageError(`--bearer-file: ${path} cannot be read: ${errorCode(cause) ?? String(cause)}.`, { cause });
  }
}

type Verify = (note: string) => boolean;

/** As of `sealgate-verify`: keys, or files with one per line. */
async function verifierOf(given: readonly string[] | undefined): Promise<Verify> {
  if (given === undefined) return () => true;
  const keys = await Promise.all(given.map(async (key) => (VKEY.test(key) ? [key] : keysIn(key))));
  try {
    const verifiers = keys.flat().map((key) => noteVerifier(key));
    return (note) => verifiers.some((verifier) => verifier.verify(note) !== undefined);
  } catch (error) {
    throw new UsageError(`--key: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The beginning of a verifier key, as no file is named. */
const VKEY = /^[^+]+\+[0-9a-f]{8}\+/;

async function keysIn(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new UsageError(
      `--key: ${path} is no verifier key, and no file that can be read: ${errorCode(cause) ?? ''}.`,
      { cause },
    );
  });
  return text.trim().split(/\s*\n\s*/);
}

interface Copying {
  readonly url: string;
  readonly dir: string;
  readonly verify: Verify;
  readonly bearer: string | undefined;
}

/** Bundles fetched concurrently, and kept in memory: each is at most 16 MiB, ours mostly 80 KiB. */
const BUNDLES_AT_ONCE = 4;

async function copyLog(copying: Copying) {
  const { dir, verify } = copying;
  const note = (await fetchFile(copying, 'checkpoint', MAX_NOTE_BYTES)).toString('utf8');
  if (!verify(note)) throw new ExportError('The checkpoint is not signed by the pinned key.');
  const { origin, size, root } = checkpointOf(note, 'The checkpoint of the log');
  const before = await heldIn(dir);
  if (before !== undefined && before.origin !== origin) throw new ExportError(`${dir} holds ${before.origin}.`);
  const from = before?.size ?? 0;
  if (size < from)
    throw new ExportError(`The log has ${size} entries, and ${dir} contains ${from}: it was rolled back.`);
  const tree = before?.tree ?? TileTree.empty();
  const indexes = Array.from(
    { length: Math.ceil(size / TILE_WIDTH) - Math.floor(from / TILE_WIDTH) },
    (_, place) => Math.floor(from / TILE_WIDTH) + place,
  );
  for (let at = 0; tree.size < size; at += BUNDLES_AT_ONCE) {
    const wanted = indexes
      .slice(at, at + BUNDLES_AT_ONCE)
      .map((index) => ({ index, width: tileWidth(0, index, size) }));
    const bundles = await Promise.all(wanted.map((bundle) => fetchFile(copying, bundlePath(bundle), MAX_BUNDLE_BYTES)));
    for (const [place, bundle] of bundles.entries()) {
      const id = wanted[place]!;
      const leaves = leavesOf(bundle, id.width, bundlePath(id));
      const open = tree.edge().find(({ level, index }) => level === 0 && index === id.index);
      if (open !== undefined && !Buffer.concat(leaves.slice(0, open.width)).equals(open.hashes)) {
        throw new ExportError(
          `${bundlePath(id)} has other entries than before: the log is a fork of the copy in ${dir}.`,
        );
      }
      await writeFileWhole(join(dir, bundlePath(id)), bundle);
      await writeTiles(dir, tree.append(Buffer.concat(leaves.slice(tree.size - id.index * TILE_WIDTH))));
    }
  }
  if (!tree.root().equals(root)) {
    throw new ExportError(
      `The entries do not hash to the signed root of ${size} entries: ${dir} stays at ${from} entries.`,
    );
  }
  await writeTiles(dir, tree.edge());
  await writeFileWhole(join(dir, 'checkpoint'), Buffer.from(note));
  return { from, size, origin };
}

function leavesOf(bundle: Buffer, width: number, path: string): Buffer[] {
  let leaves: Buffer[];
  try {
    leaves = entriesOf(bundle).map((entry) => leafHash(entry));
  } catch (cause) {
    throw new ExportError(`${path} is not an entry bundle.`, { cause });
  }
  if (leaves.length !== width) throw new ExportError(`${path} holds ${leaves.length} entries, not ${width}.`);
  return leaves;
}

function checkpointOf(note: string, what: string): Checkpoint {
  try {
    return parseCheckpoint(note);
  } catch (cause) {
    throw new ExportError(`${what} is invalid: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** The result of an earlier run, which must be complete: its right edge gives the root of its checkpoint. */
async function heldIn(dir: string): Promise<(Checkpoint & { readonly tree: TileTree }) | undefined> {
  const note = await readIfThere(join(dir, 'checkpoint'));
  if (note === undefined) return undefined;
  const checkpoint = checkpointOf(note.toString('utf8'), `The checkpoint in ${dir}`);
  const { size, root } = checkpoint;
  const edge: Tile[] = [];
  for (let level = 0; TILE_WIDTH ** level <= size; level += 1) {
    const index = Math.floor(size / TILE_WIDTH ** (level + 1));
    const width = tileWidth(level, index, size);
    if (width === 0) continue;
    const hashes = await readIfThere(join(dir, tilePath({ level, index, width })));
    if (hashes === undefined) throw new ExportError(`${tilePath({ level, index, width })} is missing in ${dir}.`);
    edge.push({ level, index, width, hashes });
  }
  try {
    const tree = TileTree.from(size, edge);
    if (tree.root().equals(root)) return { ...checkpoint, tree };
  } catch {
    // TileTree.from can only fail for a tile of the wrong length.
  }
  throw new ExportError(`The tiles in ${dir} do not hash to the root of its checkpoint.`);
}

const MAX_NOTE_BYTES = 1_000_000;
const MAX_BUNDLE_BYTES = TILE_WIDTH * 65_537;
const FETCH_WITHIN_MS = 60_000;

async function fetchFile({ url, bearer }: Copying, path: string, maxBytes: number): Promise<Buffer> {
  const from = `${url.replace(/\/+$/, '')}/${path}`;
  let response: Response;
  try {
    const headers = bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` };
    response = await fetch(from, { headers, redirect: 'error', signal: AbortSignal.timeout(FETCH_WITHIN_MS) });
    if (response.ok) {
      const body = await boundedBody(response, maxBytes);
      if (body === undefined) throw new ExportError(`${from} is larger than ${maxBytes} bytes.`);
      return body;
    }
  } catch (cause) {
    if (cause instanceof ExportError) throw cause;
    throw new UnreachableError(`${from} cannot be fetched.`, { cause });
  }
  await response.body?.cancel();
  const why =
    response.status === 404 && path.includes('/entries/')
      ? ': its entries are not served. A ledger peer serves them if its mappings serve the whole channel, or PUBLIC_LOG names it'
      : '';
  throw new ExportError(`${from} was answered with ${response.status}${why}. A later run continues.`);
}

async function writeTiles(dir: string, tiles: readonly Tile[]): Promise<void> {
  for (const tile of tiles) await writeFileWhole(join(dir, tilePath(tile)), tile.hashes);
}

/** Written to a temporary file, synced, renamed: a server of the folder never serves a partial file. */
async function writeFileWhole(path: string, bytes: Uint8Array): Promise<void> {
  const next = `${path}.new`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(next, 'w');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(next, path);
  } catch (cause) {
    await rm(next, { force: true }).catch(() => undefined);
    throw new UnwritableError(path, cause);
  }
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return undefined;
    throw new UsageError(`${path} cannot be read: ${code ?? String(error)}.`, { cause: error });
  }
}

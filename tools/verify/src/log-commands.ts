import type { Command } from 'commander';
import { checkCheckpoint, checkConsistency, type Connection, readConsistencyPath } from './check-consistency.ts';
import { checkLog } from './check-log.ts';
import { pathIn, readJson, readText } from './read-file.ts';
import { type CommandHost, type CommonOptions, runKeyedCheck, withKeyOptions } from './run-check.ts';
import type { NoteInput } from './signed-checkpoint.ts';
import { connectionByTiles } from './tile-directory.ts';
import { UnreadableError } from './shape.ts';

const CONSISTENCY_HELP = `
OLD and NEW are two saved checkpoints. If they differ in size, give a proof (--proof: a JSON list of hashes in lower-case
hex, or {"consistencyPath": [...]}) or the tiles of the log (--tiles: a directory with tile/ as in C2SP tlog-tiles).

  sealgate-verify consistency monday.txt friday.txt --key log.vkey --tiles mirror/`;

const LOG_HELP = `
DIR contains "checkpoint", the tiles as in C2SP tlog-tiles ("tile/0/000", ...) and perhaps "leaves.ndjson", "records.ndjson"
or "records/*.ndjson" (an archive): the whole log, one entry per line from index 0. Tiles or entries are enough; with both, the
first differing entry is reported. A line is a receipt (perhaps with data), {receipt, proof}, or {index, leafHash, id?,
channel?}; a line of --receipts may also be the response to a write.

  sealgate-verify log mirror/ --key log.vkey --receipts answers.ndjson --saved checkpoints/`;

/** Adds `checkpoint`, `consistency` and `log`. */
export function addLogCommands(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('checkpoint'))
    .description('check the signature and origin of a checkpoint')
    .argument('<file>', 'a checkpoint, as served')
    .option('--channel <channel>', 'its required channel: <network>.<name>')
    .action(async (path: string, options: CommonOptions & { channel?: string }) => {
      await runKeyedCheck(host, { name: 'checkpoint', options }, async ({ verifier }) =>
        checkCheckpoint({ ...(await readNote(host, path)), verifier, channel: options.channel }),
      );
    });

  withKeyOptions(program.command('consistency'))
    .description('check that one checkpoint covers a prefix of the log of another')
    .argument('<old>', 'the older checkpoint')
    .argument('<new>', 'the newer checkpoint')
    .option('--proof <file>', 'a consistency proof as JSON')
    .option('--tiles <dir>', 'a directory of tiles to build the proof from')
    .addHelpText('after', CONSISTENCY_HELP)
    .action(async (oldPath: string, newPath: string, options: CommonOptions & ConnectionOptions) => {
      await runKeyedCheck(host, { name: 'consistency', options }, async ({ verifier }) => {
        const [older, newer] = [await readNote(host, oldPath), await readNote(host, newPath)];
        const connection = await readConnection(host, options, { older: older.note, newer: newer.note });
        return checkConsistency({ older, newer, verifier, connection });
      });
    });

  withKeyOptions(program.command('log'))
    .description('recompute a whole log, and check that receipts are in it')
    .argument('<dir>', 'a directory with the checkpoint, tiles and entries of one channel')
    .option('--channel <channel>', 'its required channel: <network>.<name>')
    .option('--leaves <file>', 'the entries of the whole log as NDJSON, if not in DIR')
    .option('--receipts <file...>', 'NDJSON of receipts or write responses that must be in the log exactly once')
    .option('--saved <path...>', 'checkpoints saved elsewhere: files, or directories of them')
    .addHelpText('after', LOG_HELP)
    .action(async (path: string, options: CommonOptions & LogOptions) => {
      const at = (given: string) => pathIn(host.directory, given);
      await runKeyedCheck(host, { name: 'log', options }, ({ verifier }) =>
        checkLog({
          directory: at(path),
          verifier,
          channel: options.channel,
          leaves: options.leaves === undefined ? undefined : at(options.leaves),
          receipts: options.receipts?.map(at),
          saved: options.saved?.map(at),
        }),
      );
    });
}

interface ConnectionOptions {
  readonly proof?: string;
  readonly tiles?: string;
}

interface LogOptions {
  readonly channel?: string;
  readonly leaves?: string;
  readonly receipts?: string[];
  readonly saved?: string[];
}

async function readNote(host: CommandHost, path: string): Promise<NoteInput> {
  const where = pathIn(host.directory, path);
  return { note: await readText(where), where };
}

async function readConnection(
  host: CommandHost,
  { proof, tiles }: ConnectionOptions,
  notes: { readonly older: string; readonly newer: string },
): Promise<Connection | undefined> {
  if (proof !== undefined && tiles !== undefined)
    throw new UnreadableError('Give either --proof or --tiles, not both.');
  if (tiles !== undefined) return connectionByTiles(pathIn(host.directory, tiles), notes);
  if (proof === undefined) return undefined;
  const { name, value } = await readJson(pathIn(host.directory, proof));
  return readConsistencyPath(name, value);
}

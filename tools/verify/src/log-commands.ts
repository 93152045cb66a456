import type { Command } from 'commander';
import { checkCheckpoint } from './check-checkpoint.ts';
import { checkConsistency, readConsistencyPath } from './check-consistency.ts';
import type { Connection } from './check-consistency.ts';
import { checkLog } from './check-log.ts';
import type { CommandHost } from './cli.ts';
import { pathIn, readJson, readText } from './read-file.ts';
import { runKeyedCheck, withKeyOptions } from './run-check.ts';
import type { CommonOptions } from './run-check.ts';
import type { NoteInput } from './signed-checkpoint.ts';
import { connectionByTiles } from './tile-directory.ts';
import { UnreadableError } from './unreadable-error.ts';

const CONSISTENCY_HELP = `
OLD and NEW are two checkpoints that were saved. Where they differ in size, what connects them is either a proof
(--proof: a JSON list of hashes in lower hex, or {"consistencyPath": [...]}) or the tiles of the log (--tiles: a directory
that holds tile/ as C2SP tlog-tiles lays it out).

  sealgate-verify consistency monday.txt friday.txt --key log.vkey --tiles mirror/`;

const LOG_HELP = `
DIR holds "checkpoint", the tiles as C2SP tlog-tiles lays them out ("tile/0/000", ...) and perhaps "leaves.ndjson",
"records.ndjson" or "records/*.ndjson" (an archive): the whole log, one entry a line from index 0. Tiles or entries are enough; with both, the first entry that
disagrees is named. A line is a receipt (perhaps with data), {receipt, proof}, or {index, leafHash, id?, channel?}; a line of
--receipts may also be a write's answer.

  sealgate-verify log mirror/ --key log.vkey --receipts answers.ndjson --saved checkpoints/`;

/** Adds `checkpoint`, `consistency` and `log`. */
export function addLogCommands(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('checkpoint'))
    .description('is this checkpoint signed by the pinned key?')
    .argument('<file>', 'a checkpoint, as it was served')
    .option('--channel <channel>', 'the channel it has to be of: <network>.<name>')
    .action(async (path: string, options: CommonOptions & { channel?: string }) => {
      await runKeyedCheck(host, { name: 'checkpoint', options }, async ({ verifier }) =>
        checkCheckpoint({ ...(await readNote(host, path)), verifier, channel: options.channel }),
      );
    });

  withKeyOptions(program.command('consistency'))
    .description('is one checkpoint of the beginning of the log that another is of?')
    .argument('<old>', 'the older checkpoint')
    .argument('<new>', 'the newer checkpoint')
    .option('--proof <file>', 'a consistency proof as JSON')
    .option('--tiles <dir>', 'a directory of tiles to make the proof from')
    .addHelpText('after', CONSISTENCY_HELP)
    .action(async (oldPath: string, newPath: string, options: CommonOptions & ConnectionOptions) => {
      await runKeyedCheck(host, { name: 'consistency', options }, async ({ verifier }) => {
        const [older, newer] = [await readNote(host, oldPath), await readNote(host, newPath)];
        const connection = await readConnection(host, options, { older: older.note, newer: newer.note });
        return checkConsistency({ older, newer, verifier, connection });
      });
    });

  withKeyOptions(program.command('log'))
    .description('does a whole log hash to its checkpoint, and is every receipt in it?')
    .argument('<dir>', 'a directory with the checkpoint, tiles and entries of one channel')
    .option('--channel <channel>', 'the channel it has to be of: <network>.<name>')
    .option('--leaves <file>', 'the entries of the whole log as NDJSON, if not in DIR')
    .option('--receipts <file...>', 'NDJSON of receipts or write answers that have to be in the log, each exactly once')
    .option('--saved <path...>', 'checkpoints that were kept elsewhere: files, or directories of them')
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

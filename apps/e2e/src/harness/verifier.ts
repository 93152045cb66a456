import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@sealgate/testing';
import { runCli } from '@sealgate/verify';
import type { AdminClient } from './admin-client.ts';
import type { WriteAnswer } from './answers.ts';

export interface Judgement {
  /** As the shell would see it: 0 verified, 1 not verified, 2 unreadable. */
  readonly exitCode: number;
  /** The report, as `--json` prints it. */
  readonly text: string;
}

/** Runs `sealgate-verify`, which knows nothing but files and a pinned key. */
export async function verify(folder: string, ...parameters: readonly string[]): Promise<Judgement> {
  let text = '';
  const say = (part: string): void => {
    text += part;
  };
  const exitCode = await runCli([...parameters, '--json'], { out: say, err: say, directory: folder });
  return { exitCode, text };
}

export interface LogStory {
  readonly admin: AdminClient;
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly verifierKey: string;
  /** For the files that the verifier reads. */
  readonly folder: string;
  /** The body of every 200 that any sender got, replays included, as it came. */
  readonly answers: readonly string[];
  /** Folders of checkpoints that were kept outside the database. */
  readonly savedFolders: readonly string[];
}

/**
 * Holds a whole channel against all that its senders were told, by the offline verifier alone: every record in an answer
 * is in the log once, the log holds nothing else, and its root is the one that was signed. Throws where that is not so.
 * Gives how many records the channel holds.
 */
export async function judgeLog(story: LogStory): Promise<number> {
  const { channel, verifierKey, savedFolders } = story;
  const folder = join(story.folder, `judged-${channel}`);
  mkdirSync(folder, { recursive: true });
  const receipts = story.answers
    .flatMap((text) => (JSON.parse(text) as WriteAnswer).records)
    .filter((receipt) => receipt.channel === channel);
  const entries = new Map(receipts.map((receipt) => [receipt.index, receipt]));
  const inOrder = [...entries.values()].toSorted((one, other) => one.index - other.index);
  const lines = (values: readonly string[]): string => values.map((value) => `${value}\n`).join('');
  const checkpoint = await checkpointOver(story, inOrder.length);
  writeFileSync(join(folder, 'checkpoint'), checkpoint);
  writeFileSync(join(folder, 'leaves.ndjson'), lines(inOrder.map((entry) => JSON.stringify(entry))));
  writeFileSync(join(folder, 'answers.ndjson'), lines(story.answers));
  const saved = savedFolders.length === 0 ? [] : ['--saved', ...savedFolders];
  const parameters = ['--key', verifierKey, '--channel', channel, '--receipts', 'answers.ndjson', ...saved];
  const { exitCode, text } = await verify(folder, 'log', '.', ...parameters);
  if (exitCode !== 0) throw new Error(`The verifier does not accept ${channel}: ${text}`);
  if (inOrder.length > 0 && !text.includes('0 entries of the log have no receipt here')) {
    throw new Error(`${channel} holds records that nobody was told of: ${text}`);
  }
  return inOrder.length;
}

/** The newest checkpoint, once it covers this many records: by the contract within a second of the last write. */
async function checkpointOver({ admin, channel }: LogStory, size: number): Promise<string> {
  let text = '';
  await until(
    async () => {
      ({ text } = await admin.get(`/ledger/channels/${channel}/checkpoint`));
      return Number(text.split('\n')[1]) >= size;
    },
    { timeoutMs: 10_000, what: `a checkpoint over ${size} records of ${channel}` },
  );
  return text;
}

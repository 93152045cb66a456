import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@sealgate/testing';
import { runCli } from '@sealgate/verify';
import type { AdminClient } from './admin-client.ts';
import type { WriteAnswer } from './answers.ts';

interface Judgement {
  /** The exit code: 0 verified, 1 not verified, 2 unreadable. */
  readonly exitCode: number;
  /** The report of `--json`. */
  readonly text: string;
}

/** Runs `sealgate-verify`, which uses only files and a pinned key. */
export async function verify(folder: string, ...parameters: readonly string[]): Promise<Judgement> {
  let text = '';
  const say = (part: string): void => {
    text += part;
  };
  const exitCode = await runCli([...parameters, '--json'], { out: say, err: say, directory: folder });
  return { exitCode, text };
}

interface LogStory {
  readonly admin: AdminClient;
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly verifierKey: string;
  /** Folder for the files that the verifier reads. */
  readonly folder: string;
  /** The body of every 200 that any sender got, replays included, unchanged. */
  readonly answers: readonly string[];
  /** Folders of checkpoints that were kept outside the database. */
  readonly savedFolders: readonly string[];
}

/**
 * Compares a whole channel with all answers to its senders, by the offline verifier alone: every record in an answer is
 * in the log once, the log contains nothing else, and its root is the signed one. Throws otherwise. Returns the number
 * of records in the channel.
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
    throw new Error(`${channel} contains records that are in no answer: ${text}`);
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

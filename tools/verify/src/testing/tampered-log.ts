import { join } from 'node:path';
import { checkLog } from '../check-log.ts';
import type { LogInput } from '../check-log.ts';
import type { Report } from '../report.ts';
import { directoryOf, filesOf, sampleLog } from './sample-log.ts';
import type { SampleLog } from './sample-log.ts';

/** The default log that is written to disk and tampered with. */
export const log = sampleLog(600);

export type Files = Map<string, string | Uint8Array>;

interface Options extends Partial<LogInput> {
  readonly of?: SampleLog;
}

/** The report on a log's files after a change. Receipts and saved checkpoints are named relative to its directory. */
export async function check(change: (files: Files) => void, options: Options = {}): Promise<Report> {
  const files = filesOf(options.of ?? log, { leaves: true });
  change(files);
  const directory = await directoryOf(files);
  const inside = (paths: readonly string[] | undefined) => paths?.map((path) => join(directory, path));
  const { receipts, saved } = options;
  const input = { ...options, receipts: inside(receipts), saved: inside(saved) };
  return checkLog({ directory, verifier: log.verifier, ...input });
}

/** The failed steps, in order. */
export async function failures(
  change: (files: Files) => void,
  options?: Options,
): Promise<{ step: string; detail: string }[]> {
  const report = await check(change, options);
  return report.steps.filter(({ status }) => status === 'failed').map(({ step, detail }) => ({ step, detail }));
}

export function isTile(path: string): boolean {
  return path.startsWith('tile/');
}

import { existsSync, rmSync } from 'node:fs';
import {
  commandLineOf,
  endProcess,
  explainFileError,
  isAlive,
  lockHolder as holderOf,
  stopOrphanedPostgres,
  takeLockFile,
} from '@sealgate/local-services';
import { type DataFolder, npmCommand } from './data-folder.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';
import { UserError } from './user-error.ts';

/** Part of the command line of every `npm start`. */
const MARK = 'tools/dev/src/main.ts';

/** The `npm start` that holds the data folder; undefined if there is none, or if it was killed. */
export const lockHolder = (lockFile: string): number | undefined => holderOf(lockFile, MARK);

/** Locks the data folder for this process. @throws UserError if another start holds it. */
export function takeLock(data: DataFolder): { release(): void } {
  const { lockFile, path } = data;
  const result = takeLockOf(lockFile);
  if (result.taken) return { release: () => rmSync(lockFile, { force: true }) };
  if (result.holder !== undefined) throw new UserError(refusal(data, result.holder));
  throw new UserError(`Another start is locking ${path} at this moment.`);
}

function takeLockOf(lockFile: string): ReturnType<typeof takeLockFile> {
  try {
    return takeLockFile(lockFile, MARK);
  } catch (error) {
    throw explainFileError(error, lockFile);
  }
}

function refusal(data: DataFolder, holder: number): string {
  const runs = `Sealgate already runs on ${data.path} (process ${holder})`;
  const stop = npmCommand('stop', data.path);
  const ended = endedProcesses(data);
  if (ended.length === 0) return `${runs}. Stop it with \`${stop}\`, or choose another folder with --data.`;
  const each = ended.map(({ name, logFile }) => `${name} has exited since (its log is ${logFile})`).join(' and ');
  return `${runs}, but ${each}. To restart it: \`${stop}\`, then \`${npmCommand('start', data.path)}\`.`;
}

/** A child process, and a part of its command line to identify it. */
export interface RunningProcess {
  readonly pid: number;
  readonly mark: string;
  readonly name: string;
  readonly logFile: string;
}

/** Written before other processes depend on these, so that orphans of a killed start can be found. */
export function writeRunFile(data: DataFolder, processes: readonly RunningProcess[]): void {
  writeJsonFile(data.runFile, { processes });
}

/**
 * Stops the orphans of a killed start on this data: surfaces and Redis by the run file, PostgreSQL by its own pid file.
 * A process is signalled only if its command line matches. The caller holds the lock. Returns their number.
 */
export async function endOrphans(data: DataFolder): Promise<number> {
  let ended = 0;
  for (const process of readRunFile(data)) {
    if (!isOurs(process)) continue;
    await endProcess(process.pid, [
      { name: 'SIGTERM', waitMs: 15_000 },
      { name: 'SIGKILL', waitMs: 5_000 },
    ]);
    ended += 1;
  }
  if (existsSync(data.postgres) && (await stopOrphanedPostgres(data.postgres))) ended += 1;
  for (const file of [data.runFile, data.devFile]) rmSync(file, { force: true });
  return ended;
}

/** Processes that have exited although their start is still running. */
function endedProcesses(data: DataFolder): RunningProcess[] {
  return readRunFile(data).filter((process) => !isOurs(process));
}

const isOurs = ({ pid, mark }: RunningProcess): boolean => isAlive(pid) && commandLineOf(pid).includes(mark);

function readRunFile(data: DataFolder): RunningProcess[] {
  const processes: unknown = readJsonFile(data.runFile)?.['processes'];
  return Array.isArray(processes) ? processes.filter(isRunningProcess) : [];
}

function isRunningProcess(value: unknown): value is RunningProcess {
  if (typeof value !== 'object' || value === null) return false;
  const words = ['mark', 'name', 'logFile'].map((member): unknown => Reflect.get(value, member));
  const pid: unknown = Reflect.get(value, 'pid');
  const isWord = (word: unknown): boolean => typeof word === 'string' && word.length > 0;
  return typeof pid === 'number' && Number.isInteger(pid) && pid > 1 && words.every(isWord);
}

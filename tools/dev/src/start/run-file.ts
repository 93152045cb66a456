import { existsSync, rmSync } from 'node:fs';
import { commandLineOf, endProcess, isAlive, stopOrphanedPostgres } from '@sealgate/local-services';
import type { DataFolder } from './data-folder.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';

/** A process of ours, and words of its command line by which it is known again. */
export interface RunningProcess {
  readonly pid: number;
  readonly mark: string;
  readonly name: string;
  readonly logFile: string;
}

/** Written before others depend on the processes, so that a killed start leaves a trace of each. */
export function writeRunFile(data: DataFolder, processes: readonly RunningProcess[]): void {
  writeJsonFile(data.runFile, { processes });
}

/**
 * Ends what a killed start left running on this data: surfaces and Redis by the run file, PostgreSQL by its own pid
 * file. Nothing is signalled unless its command line says that it is ours. The caller holds the lock.
 * Gives how many there were.
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

/** Those that have ended although the start they belong to still runs. */
export function endedProcesses(data: DataFolder): RunningProcess[] {
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

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Line } from '../history.ts';
import { acknowledgedWrites } from './acknowledged-writes.ts';
import { cases } from './cases.ts';
import type { Check, Verdict } from './check.ts';
import { checkpoints } from './checkpoints.ts';
import { openDatabases, type DatabaseUrls } from './databases.ts';
import { evidence } from './evidence.ts';
import { foreignRows } from './foreign-rows.ts';
import { internalErrors } from './internal-errors.ts';
import { keptPromises } from './kept-promises.ts';
import { KeyedWrites } from './keyed-writes.ts';
import { leaks } from './leaks.ts';
import { ledgerRecords, type LedgerRecord } from './ledger-records.ts';
import { loggedChecks } from './logged-checks.ts';
import { notWritten } from './not-written.ts';
import { oneAnswer } from './one-answer.ts';
import { operatorChanges } from './operator-changes.ts';
import { pushedWebhooks } from './pushed-webhooks.ts';
import { revokedSubjects } from './revoked-subjects.ts';
import { sessions } from './sessions.ts';
import { signIns } from './sign-ins.ts';
import { writeEvents } from './write-events.ts';

export interface JudgeOptions {
  /** As `openHistory` writes it. */
  readonly historyFile: string;
  /** By surface, of a role that may read all tables. What has no database here is judged by its answers alone. */
  readonly databases: DatabaseUrls;
  /** What is in a ledger elsewhere. */
  readonly records?: AsyncIterable<LedgerRecord> | Iterable<LedgerRecord>;
}

/**
 * Judges a run from what clients were told and from rows, by nothing of our own code. Call it when all is quiet: what
 * still waits for a worker counts as missing. One verdict for each promise; the run was good if none is broken.
 * @throws Error if a file or a database cannot be read.
 */
export async function judge({ historyFile, databases: urls, records = [] }: JudgeOptions): Promise<readonly Verdict[]> {
  const writes = new KeyedWrites();
  const checks: readonly Check[] = [
    { line: (line, number) => writes.line(line, number), ...acknowledgedWrites(writes) },
    oneAnswer(),
    notWritten(writes),
    checkpoints(),
    cases(),
    evidence(),
    writeEvents(),
    keptPromises(),
    pushedWebhooks(),
    revokedSubjects(),
    loggedChecks(),
    internalErrors(),
    operatorChanges(),
    sessions(),
    signIns(),
    foreignRows(),
    leaks(),
  ];
  const databases = await openDatabases(urls);
  try {
    const times = await readLines(historyFile, checks);
    for await (const record of ledgerRecords(databases)) for (const check of checks) check.record?.(record);
    for await (const record of records) for (const check of checks) check.record?.(record);
    const verdicts: Verdict[] = [];
    for (const check of checks) verdicts.push(await check.close(databases));
    return verdicts.map((verdict) => ({ ...verdict, ...afterOf(verdict, times) }));
  } finally {
    await databases.close();
  }
}

/** Passes each line on. Returns when each was written. */
async function readLines(file: string, checks: readonly Check[]): Promise<readonly number[]> {
  const times: number[] = [];
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const line = JSON.parse(text) as Line;
    times.push(timeOf(line) ?? times.at(-1) ?? 0);
    for (const check of checks) check.line?.(line, times.length);
  }
  return times;
}

function timeOf(line: Line): number | undefined {
  if (line.is === 'known') return undefined;
  if (line.is === 'asked') return line.endedMs;
  return line.is === 'fault' ? line.healedMs : line.atMs;
}

function afterOf({ firstLine }: Verdict, times: readonly number[]): Pick<Verdict, 'afterSeconds'> {
  const begunMs = times.find((ms) => ms > 0);
  if (firstLine === undefined || begunMs === undefined) return {};
  return { afterSeconds: Math.max(0, Math.round((times[firstLine - 1]! - begunMs) / 1000)) };
}

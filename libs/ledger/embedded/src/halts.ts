import { parseChannel } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import { LedgerLostError, type LedgerCorruptError, type Loss } from './ledger-corrupt-error.ts';

/** A channel that is not as it was left, as the database tells every process. */
export interface Halt {
  readonly channel: string;
  readonly problem: string;
  /** Where records that were signed for are missing: the channel takes no more. */
  readonly loss: Loss | undefined;
}

interface HaltRow {
  channel: string;
  problem: string;
  kept: string | null;
  lost_from: string | null;
  lost_until: string | null;
}

const READ_WITHIN_MS = 2000;

/** Those in which the role of this process has a right. @throws LedgerUnavailableError. */
export async function readHalts(sql: Sql, deadlineMs = READ_WITHIN_MS): Promise<Halt[]> {
  const text = 'SELECT channel, problem, kept, lost_from, lost_until FROM ledger.halts_v1()';
  const rows = await readLedger<HaltRow>(sql, { text }, deadlineMs);
  return rows.map(({ channel, problem, kept, lost_from: from, lost_until: until }) => ({
    channel,
    problem,
    loss: kept === null ? undefined : { kept, from: Number(from), until: Number(until) },
  }));
}

/** For a role that integrates. */
export async function storeHalt(sql: Sql, error: LedgerCorruptError, nowMs: number): Promise<void> {
  const { channel, message } = error;
  const loss = error instanceof LedgerLostError ? error.loss : undefined;
  const network = parseChannel(channel)?.networkId ?? channel;
  await sql.query({
    text: 'SELECT ledger.halt_v1($1, $2, $3, $4, $5, $6, $7)',
    values: [network, channel, message, loss?.kept ?? null, loss?.from ?? null, loss?.until ?? null, Math.floor(nowMs)],
  });
}

/** For a role that integrates. */
export async function storeResume(sql: Sql, channel: string): Promise<void> {
  await sql.query({ text: 'SELECT ledger.resume_v1($1)', values: [channel] });
}

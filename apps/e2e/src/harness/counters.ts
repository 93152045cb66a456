import { expect } from '@jest/globals';
import { ledgerSize } from './admin-client.ts';
import type { Gateway } from './gateway-process.ts';
import type { Installation } from './installation.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { codeOf } from './load.ts';

/** Counters of all gateways since their start, summed. */
interface Counters {
  readonly accepted: number;
  readonly stored: number;
  readonly replayed: number;
  /** By problem code. */
  readonly refused: Readonly<Record<string, number>>;
}

async function readCounters(gateways: readonly Gateway[]): Promise<Counters> {
  const texts = await Promise.all(gateways.map(async ({ ops }) => (await ops.send({ path: '/metrics' })).text));
  const lines = texts.flatMap((text) => text.split('\n'));
  const sum = (name: string): number => {
    const found = lines.filter((line) => new RegExp(`^${name}(\\{[^}]*\\})? `).test(line));
    return found.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
  };
  const refused: Record<string, number> = {};
  for (const line of lines) {
    const match = /^ingest_refused_total\{[^}]*code="([A-Z_]+)"[^}]*\} (\d+)$/.exec(line);
    if (match !== null && match[2] !== '0') refused[match[1]!] = (refused[match[1]!] ?? 0) + Number(match[2]);
  }
  return {
    accepted: sum('ingest_accepted_total'),
    stored: sum('ingest_stored_records_total'),
    replayed: sum('ingest_replayed_total'),
    refused,
  };
}

/**
 * Compares the counters of gateways that never stopped with the answers to their senders and the ledger. `answers` are
 * all that were ever given on their public listeners.
 */
export async function expectCountersAgree(
  installation: Pick<Installation, 'gateways' | 'admin'>,
  { answers, channels }: { answers: readonly HttpAnswer[]; channels: readonly string[] },
): Promise<void> {
  const accepted = answers.filter(({ status }) => status === 200);
  const refused: Record<string, number> = {};
  for (const answer of answers) {
    const code = codeOf(answer);
    if (code !== undefined) refused[code] = (refused[code] ?? 0) + 1;
  }
  const sizes = await Promise.all(channels.map((channel) => ledgerSize(installation.admin, channel)));
  expect(await readCounters(installation.gateways)).toEqual({
    accepted: accepted.length,
    stored: sizes.reduce((total, size) => total + size, 0),
    replayed: accepted.filter(({ headers }) => headers['idempotent-replayed'] === 'true').length,
    refused,
  });
}

import type { LedgerHealth } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readHalts } from './halts.ts';
import type { Integrator } from './integrator.ts';

/** The health of the ledger as seen by this process. Never rejects. */
export async function healthOf(sql: Sql, integrator: Integrator | undefined): Promise<LedgerHealth> {
  try {
    const halts = await readHalts(sql, 1000);
    if (integrator === undefined) {
      // The process can still serve reads and proofs: it stays healthy and names the halted channels.
      return { ok: true, problem: halts.length === 0 ? null : problemOf(halts.map(({ problem }) => problem)) };
    }
    const problems = new Map([...integrator.halted]);
    for (const { channel, problem } of halts) if (!problems.has(channel)) problems.set(channel, problem);
    // Channels that are not halted are still signed: unhealthy only if all are halted.
    return {
      ok: problems.size === 0 || problems.size < integrator.channelCount,
      problem: problems.size === 0 ? null : problemOf([...problems.values()]),
    };
  } catch {
    return { ok: false, problem: 'the database of the ledger does not answer' };
  }
}

const MAX_PROBLEMS = 5;

/** The problems of halted channels in one text, limited to the first few. */
function problemOf(problems: readonly string[]): string {
  const more = problems.length > MAX_PROBLEMS ? [`And ${problems.length - MAX_PROBLEMS} more.`] : [];
  return [...problems.slice(0, MAX_PROBLEMS), ...more].join(' ');
}

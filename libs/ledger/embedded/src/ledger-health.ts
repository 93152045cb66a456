import type { LedgerHealth } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readHalts } from './halts.ts';
import type { Integrator } from './integrator.ts';

/** What is wrong with the ledger as this process sees it. Never rejects. */
export async function healthOf(sql: Sql, integrator: Integrator | undefined): Promise<LedgerHealth> {
  try {
    const halts = await readHalts(sql, 1000);
    if (integrator === undefined) {
      // What was written can be read and proved: the surface can serve, and says which of its channels are not whole.
      return { ok: true, problem: halts.length === 0 ? null : problemOf(halts.map(({ problem }) => problem)) };
    }
    const problems = new Map([...integrator.halted]);
    for (const { channel, problem } of halts) if (!problems.has(channel)) problems.set(channel, problem);
    // Records of other channels are signed for: only where there is no other it is all in doubt.
    return {
      ok: problems.size === 0 || problems.size < integrator.channelCount,
      problem: problems.size === 0 ? null : problemOf([...problems.values()]),
    };
  } catch {
    return { ok: false, problem: 'the database of the ledger does not answer' };
  }
}

const MAX_TOLD = 5;

/** Each channel that is halted, by name; of very many the first. */
function problemOf(problems: readonly string[]): string {
  const more = problems.length > MAX_TOLD ? [`And ${problems.length - MAX_TOLD} more.`] : [];
  return [...problems.slice(0, MAX_TOLD), ...more].join(' ');
}

import { until } from '../until.ts';
import type { FillAt } from './sized-surface.ts';

const withinMs = 120_000;

interface Removal {
  /** Of the process that removes: how long it keeps what. */
  readonly env: Readonly<Record<string, string>>;
  /** SQL of a row with how many are `left`. */
  readonly text: string;
  readonly values: readonly unknown[];
  readonly old: number;
}

/** From the end of the first step, of a thousand rows, to that of the last, with the pauses that leave others their turn. */
export async function removalMs({ site }: Pick<FillAt, 'site'>, { env, text, values, old }: Removal): Promise<number> {
  const process = await site.start({ ...env, LEDGER_INTEGRATOR: 'false' });
  let startedAt = Number.NaN;
  const isRemoved = async (): Promise<boolean> => {
    const [row] = await site.sql.query<{ left: number }>({ text, values });
    if (row!.left < old && Number.isNaN(startedAt)) startedAt = performance.now();
    return row!.left === 0;
  };
  await until(isRemoved, { withinMs, againMs: 5, late: 'Old rows were not removed in time.' });
  // Without the end of the process, which takes its own time.
  const tookMs = performance.now() - startedAt;
  await process.stop();
  return tookMs;
}

import type { LoadPlan, LoadResult } from './load-plan.ts';
import { runLoad } from './run-load.ts';

/** The generator's reply to its parent about one plan. */
export type LoadAnswer = { readonly result: LoadResult } | { readonly problem: string };

/** The load generator, a process of its own so that its cost is not counted as a server's. Ends with its parent. */
process.on('message', (plan: LoadPlan) => {
  runLoad(plan).then(
    (result) => answer({ result }),
    (error: unknown) => answer({ problem: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
// A terminal's signals go to the whole group; the parent stops this process after collecting its results.
process.on('SIGINT', () => undefined);

function answer(message: LoadAnswer): void {
  process.send?.(message);
}

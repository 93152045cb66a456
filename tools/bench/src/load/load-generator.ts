import type { LoadPlan, LoadResult } from './load-plan.ts';
import { runLoad } from './run-load.ts';

/** What the generator says to its parent about one plan. */
export type LoadAnswer = { readonly result: LoadResult } | { readonly problem: string };

/** The load generator is a process of its own, so that what it costs is not counted to a server. It ends with its parent. */
process.on('message', (plan: LoadPlan) => {
  runLoad(plan).then(
    (result) => answer({ result }),
    (error: unknown) => answer({ problem: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
// The signals of a terminal go to the whole group: the parent ends us once it has told what it knows.
process.on('SIGINT', () => undefined);

function answer(message: LoadAnswer): void {
  process.send?.(message);
}

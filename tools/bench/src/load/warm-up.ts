import type { LoadResult } from './load-plan.ts';

const mostRounds = 10;

/**
 * Runs rounds until so many requests were answered that V8 has compiled what is hot: before that a server looks slower
 * than it is. On a slow machine it takes longer, up to ten rounds.
 */
export async function warmUp(
  run: () => Promise<LoadResult>,
  { requests, signal }: { requests: number; signal: AbortSignal },
): Promise<LoadResult[]> {
  const rounds: LoadResult[] = [];
  for (let answered = 0; answered < requests && rounds.length < mostRounds;) {
    signal.throwIfAborted();
    const round = await run();
    rounds.push(round);
    answered += round.succeeded;
  }
  return rounds;
}

import type { LoadResult } from './load-plan.ts';

const mostRounds = 10;

/**
 * Runs rounds until so many requests were answered that V8 has compiled the hot code: before that a server is slower
 * than in production. Up to ten rounds on a slow machine.
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

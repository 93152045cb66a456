import type { Asking } from './sized-surface.ts';

const rounds = 3;
/** On a busy machine some of a thousand answers are late each time: the slowest are asked for again. */
const [againPaths, againRounds] = [20, 7];
const deadlineMs = 60_000;

/** Exports are as long as their rows are many. */
const isExport = (path: string): boolean => /\/export\b/.test(path);
/** Generated ids say nothing to a reader. */
const shortened = (path: string): string => path.replaceAll(/[A-Za-z0-9_-]{22,}/g, (id) => `${id.slice(0, 6)}…`);

interface AnswerTime {
  readonly path: string;
  readonly ms: number;
}

/** What each path takes alone: the best of some times, in the order of the paths. Of a failed answer it is infinite. */
export async function answerTimes(all: readonly Asking[], signal: AbortSignal): Promise<AnswerTime[]> {
  const asked = all.flatMap(({ paths, ...asking }) =>
    paths.filter((path) => !isExport(path)).map((path) => ({ ...asking, path, ms: Infinity })),
  );
  const ask = async (some: typeof asked, times: number): Promise<void> => {
    for (let round = 0; round < times; round += 1)
      for (const one of some) {
        signal.throwIfAborted();
        one.ms = Math.min(one.ms, await answerMs(one.origin + one.path, one.headers));
      }
  };
  await ask(asked, rounds);
  await ask(asked.toSorted((one, other) => other.ms - one.ms).slice(0, againPaths), againRounds);
  return asked.map(({ who, path, ms }) => ({ path: `${shortened(path)}, ${who}`, ms }));
}

async function answerMs(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(deadlineMs) });
  await response.arrayBuffer();
  return response.status >= 500 || response.status === 429 ? Infinity : performance.now() - startedAt;
}

import type { Held } from '../history.ts';
import { Findings, type Check } from './check.ts';

/**
 * What a process may hold more at its last quiet moment than at its first. Memory: the heap settles slowly, and a quiet
 * moment may be just before a collection.
 */
const BOUNDS = {
  residentKib: 160 * 1024,
  descriptors: 48,
  postgresConnections: 12,
} as const;

/** What a warm process holds: one that has just begun at its first quiet moment may grow to it. */
const WARM = { residentKib: 192 * 1024, descriptors: 0, postgresConnections: 0 } as const;

/** Redis keys of a caller: its buckets, on each surface; or the mark of its session. All of them expire. */
const KEYS_OF_CALLER = 8;
const FURTHER_KEYS = 200;

/** Between the first and the last quiet moment of one life nothing grows beyond its bound. */
export function leaks(): Check {
  const findings = new Findings('no process leaks memory, descriptors or connections, and Redis keys are bounded');
  const firsts = new Map<string, { held: Held; number: number }>();
  const lasts = new Map<string, { held: Held; number: number }>();
  const callers = new Set<string>();
  let mostKeys: { redisKeys: number; number: number } | undefined;
  return {
    line(line, number) {
      if (line.is === 'asked') callers.add(`${line.surface} ${line.sent?.session ?? line.as}`);
      if (line.is !== 'held') return;
      const life = `${line.process} ${line.pid}`;
      if (!firsts.has(life)) firsts.set(life, { held: line, number });
      lasts.set(life, { held: line, number });
      if (line.redisKeys > (mostKeys?.redisKeys ?? -1)) mostKeys = { redisKeys: line.redisKeys, number };
    },
    close() {
      for (const [life, { held: first, number: from }] of firsts) {
        const { held: last, number } = lasts.get(life)!;
        if (number === from) continue;
        findings.judged += 1;
        for (const [what, bound] of Object.entries(BOUNDS) as [keyof typeof BOUNDS, number][])
          if (last[what] > Math.max(first[what], WARM[what]) + bound)
            findings.add(`lines ${from} and ${number}: ${what} of ${life} grew from ${first[what]} to ${last[what]}`);
      }
      const most = FURTHER_KEYS + KEYS_OF_CALLER * callers.size;
      if (mostKeys !== undefined && mostKeys.redisKeys > most)
        findings.add(
          `line ${mostKeys.number}: Redis held ${mostKeys.redisKeys} keys, and ${most} at most were expected`,
        );
      return Promise.resolve(findings.verdict());
    },
  };
}

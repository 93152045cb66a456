import type { BenchContext } from '../bench-context.ts';
import { median } from '../median.ts';
import type { Row } from '../rows/row.ts';
import { replicaEnv } from '../surfaces/site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { decimals } from '../text-table.ts';
import { findingsBeside, rowName, spreadRows } from './spread-rows.ts';
import type { SpreadSurface } from './spread-surface.ts';

/** As the chart sets it: so long a replica that stops takes connections, whose answers close them. */
const drainDelayMs = 1_000;
/** Long enough for both on a slow machine. */
const leastRoundMs = 8_000;

/** Two replicas that are ended and started again, one after the other, in each round; the first replica beside them. */
export async function restartRows(
  { options }: BenchContext,
  spread: SpreadSurface,
  connections: number,
): Promise<{ readonly rows: readonly Row[]; readonly said: () => readonly string[] }> {
  const env = { ...replicaEnv(spread.site), DRAIN_DELAY_MS: String(drainDelayMs) };
  const surfaces: Surface[] = [await spread.site.start(env), await spread.site.start(env)];
  const tookMs: number[] = [];
  const restartAll = async (): Promise<void> => {
    const startedAt = performance.now();
    for (const [place, replica] of surfaces.entries()) {
      await replica.stop();
      surfaces[place] = await spread.site.start({ ...env, PORT: String(replica.port) });
    }
    tookMs.push(performance.now() - startedAt);
  };
  const ports = surfaces.map(({ port }) => port);
  const name = 'two replicas restarted one after the other';
  const [express, one, two] = await spreadRows(spread, connections, [{ name, surfaces, channels: 1 }]);
  const roundMs = Math.max(options.roundMs, leastRoundMs);
  const restarted: Row = {
    ...two!,
    watch: spread.site.watch(),
    load: {
      ...two!.load,
      destinations: two!.load.destinations.map((to) => ({ ...to, alsoAt: ports.filter((port) => port !== to.port) })),
    },
    until: { durationMs: roundMs },
    warmUpRequests: 1_000,
    beside: restartAll,
    countsFailures: true,
    // Of a machine too slow to restart both within a round, the numbers are of another thing.
    findings: (self, of) =>
      [
        ...findingsBeside(one!.name)(self, of),
        { target: 'restartFailures' as const, value: self.failed, of: rowName(spread, { name }, connections) },
      ].map((found) => (Math.max(...tookMs) <= roundMs ? found : { ...found, value: undefined })),
  };
  return {
    rows: [express!, one!, restarted],
    said: () => [
      `In a round of ${roundMs / 1_000} s both replicas of the ${spread.name} were ended by SIGTERM and started again, one after the other, in ${decimals(median(tookMs) / 1_000, 1)} s (at most ${decimals(Math.max(...tookMs) / 1_000, 1)} s); for ${drainDelayMs / 1_000} s of it each still took connections. What they cost is not known, because processes come and go.`,
    ],
  };
}

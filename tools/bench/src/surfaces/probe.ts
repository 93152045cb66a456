import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded into a measured surface before its own code (`node --import`): ends it with its parent, measures event-loop
 * stalls, and writes CPU profiles. Costs nothing until it is asked.
 */
export type ProbeRequest =
  { readonly do: 'watch stalls' | 'tell stalls' | 'profile' } | { readonly do: 'write profile'; readonly file: string };

/** The longest time between two turns of the event loop while it was watched; 0 for every other request. */
export type ProbeAnswer = number;

const resolutionMs = 1;
const profileEveryUs = 250;
const delays = monitorEventLoopDelay({ resolution: resolutionMs });
let profiler: Session | undefined;

process.on('message', (request: ProbeRequest) => {
  switch (request.do) {
    case 'watch stalls':
      delays.enable();
      delays.reset();
      return answer(0);
    case 'tell stalls':
      delays.disable();
      return answer(Math.max(0, delays.max / 1e6 - resolutionMs));
    case 'profile':
      profiler = new Session();
      profiler.connect();
      profiler.post('Profiler.enable');
      profiler.post('Profiler.setSamplingInterval', { interval: profileEveryUs });
      return profiler.post('Profiler.start', () => answer(0));
    case 'write profile':
      return profiler?.post('Profiler.stop', (_error, { profile }) => {
        writeFileSync(request.file, JSON.stringify(profile));
        profiler?.disconnect();
        answer(0);
      });
  }
});
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref(); // Listening for messages must not keep the surface from ending.

function answer(longestMs: ProbeAnswer): void {
  process.send?.(longestMs);
}

import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded into a measured surface before its own code (`node --import`): ends it with its parent, and measures event-loop
 * stalls. Costs nothing until it is asked.
 */
export type ProbeRequest = 'watch stalls' | 'tell stalls';

/** The longest time between two turns of the event loop while it was watched; 0 for every other request. */
export type ProbeAnswer = number;

const resolutionMs = 1;
const delays = monitorEventLoopDelay({ resolution: resolutionMs });

process.on('message', (request: ProbeRequest) => {
  if (request === 'watch stalls') {
    delays.enable();
    delays.reset();
    return answer(0);
  }
  delays.disable();
  return answer(Math.max(0, delays.max / 1e6 - resolutionMs));
});
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref(); // Listening for messages must not keep the surface from ending.

function answer(longestMs: ProbeAnswer): void {
  process.send?.(longestMs);
}

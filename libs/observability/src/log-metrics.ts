import type { ServiceLog } from './log.ts';
import type { Metrics } from './metrics.ts';

/** `log_lines_dropped_total`: lines that were lost because the log's stream was blocked or broken. */
export function logMetrics(metrics: Metrics, log: Pick<ServiceLog, 'droppedLines'>): void {
  metrics.observedCounter({
    name: 'log_lines_dropped_total',
    help: 'Log lines lost because their stream was blocked or broken.',
    read: () => log.droppedLines,
  });
}

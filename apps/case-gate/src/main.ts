import { randomPool, timeOrderedIds } from '@sealgate/auth';
import { opsApp } from '@sealgate/http';
import { createLog, logMetrics, Metrics } from '@sealgate/observability';
import { main, runService } from '@sealgate/service-host';
import { composeGate } from './compose.ts';
import { readConfig, type GateConfig } from './config.ts';
import { gateMetrics } from './gate-metrics.ts';
import { NAME, type Basics } from './open-parts.ts';

/** What everything in the process is given: settings, time, ids, and where to tell. */
function openBasics(config: GateConfig): Basics {
  // Milliseconds with a fraction, so that durations of requests are taken from the same clock. It never goes back.
  const now = () => performance.timeOrigin + performance.now();
  const log = createLog({ service: NAME, level: config.logLevel, stream: process.stdout, now });
  const metrics = new Metrics(NAME, { unknownLabels: 'other' });
  logMetrics(metrics, log);
  return { config, now, newId: timeOrderedIds(now, randomPool()), log, metrics, counters: gateMetrics(metrics) };
}

main(NAME, async () => {
  const basics = openBasics(readConfig(process.env));
  const { config, log, metrics, now, newId } = basics;
  // What is opened is in open-parts.ts, what the listeners are made of in compose.ts.
  const compose = (own: Parameters<typeof composeGate>[1]) => composeGate(basics, own);
  const ops = { metrics, checkTimeoutMs: 900, log, now, newRequestId: () => newId('req_') };
  await runService({ name: NAME, config, log, compose, opsApp: (checks) => opsApp({ ...ops, ...checks }) });
});

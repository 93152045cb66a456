import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { randomPool, timeOrderedIds } from '@sealgate/auth';
import { opsApp } from '@sealgate/http';
import { createLog, httpMetrics, logMetrics, Metrics } from '@sealgate/observability';
import { main, runService, StartError } from '@sealgate/service-host';
import { compose, type Basics } from './compose.ts';
import { readConfig, type ConsoleConfig } from './config.ts';
import { consoleMetrics } from './console-metrics.ts';
import { readWebFiles } from './data/web-files.ts';

const NAME = 'console';

/** Beside the bundle; run from the sources, the pages are those that were built last. */
const WEB_FOLDERS = ['web', '../dist/web'].map((folder) => join(import.meta.dirname, folder));

function openBasics(config: ConsoleConfig): Basics & { readonly metrics: Metrics } {
  // Milliseconds with a fraction, so that durations of requests are taken from the same clock.
  const now = () => performance.timeOrigin + performance.now();
  const newId = timeOrderedIds(now, randomPool());
  const log = createLog({ service: NAME, level: config.logLevel, stream: process.stdout, now });
  const metrics = new Metrics(NAME, { unknownLabels: 'other' });
  logMetrics(metrics, log);
  const webFolder = WEB_FOLDERS.find((folder) => existsSync(join(folder, 'index.html')));
  if (webFolder === undefined) throw new StartError('The pages are not built: run `npm run build`.');
  const { trustProxy, tlsTerminatedUpstream } = config;
  const newRequestId = () => newId('req_');
  return {
    ...{ config, now, newId, log, metrics },
    counters: consoleMetrics(metrics),
    appBase: { log, metrics: httpMetrics(metrics), now, newRequestId, trustProxy, tlsTerminatedUpstream },
    webFiles: readWebFiles(webFolder),
  };
}

main(NAME, async () => {
  const basics = openBasics(readConfig(process.env));
  const { config, log, metrics, now, appBase } = basics;
  const ops = { metrics, checkTimeoutMs: 1_000, log, now, newRequestId: appBase.newRequestId };
  await runService({
    name: NAME,
    config,
    log,
    compose: (own) => Promise.resolve(compose(basics, own)),
    opsApp: (checks) => opsApp({ ...ops, ...checks }),
  });
});

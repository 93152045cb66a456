import { opsApp } from '@sealgate/http';
import { runSurface } from '@sealgate/service-host';
import { compose } from './compose.ts';
import { readConfig } from './config.ts';
import { gateMetrics } from './gate-metrics.ts';
import { NAME } from './parts.ts';

runSurface({
  name: NAME,
  readConfig,
  opsApp,
  checkTimeoutMs: 900,
  compose: (basics, own) => compose({ ...basics, counters: gateMetrics(basics.metrics) }, own),
});

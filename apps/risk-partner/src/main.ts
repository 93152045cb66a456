import { opsApp } from '@sealgate/http';
import { createLog, httpMetrics, logMetrics, Metrics } from '@sealgate/observability';
import { cachedCheck, main, runService, type Composition, type Own, type ServiceHealth } from '@sealgate/service-host';
import { mcpApp, publicApp, type AppBase } from './app.ts';
import { readConfig, type RiskConfig } from './config.ts';
import { timeOrderedIds } from './domain/time-ordered-ids.ts';
import { adminAppOf, guardPortsOf, openParts, publicPortsOf } from './parts.ts';

const NAME = 'risk-partner';
const READINESS = {
  deadlineMs: 1400,
  keepMs: 900,
  otherwise: { ok: false, body: { status: 'not ready', problem: 'the database does not answer in time' } },
};

/** What everything in the process is given: settings, time, ids, and where to tell. */
function openBasics(config: RiskConfig) {
  // Milliseconds with a fraction, so that durations of requests are taken from the same clock.
  const now = () => performance.timeOrigin + performance.now();
  const newId = timeOrderedIds(() => Math.floor(now()));
  const log = createLog({ service: NAME, level: config.logLevel, stream: process.stdout, now });
  const metrics = new Metrics(NAME, { unknownLabels: 'other' });
  logMetrics(metrics, log);
  const { trustProxy, tlsTerminatedUpstream } = config;
  const newRequestId = () => newId('req_');
  const appBase: AppBase = { log, metrics: httpMetrics(metrics), now, newRequestId, trustProxy, tlsTerminatedUpstream };
  return { config, now, newId, newRequestId, log, metrics, appBase };
}

main(NAME, async () => {
  const basics = openBasics(readConfig(process.env));
  const { config, log, metrics, now, newRequestId, appBase } = basics;
  const compose = async (own: Own): Promise<Composition> => {
    const parts = await openParts(basics, own);
    const [guard, ports] = [guardPortsOf(basics, parts), publicPortsOf(basics, parts)];
    const check = async (): Promise<ServiceHealth> => {
      const fault = await parts.database.problem();
      if (fault !== undefined) return { ok: false, body: { status: 'not ready', problem: fault } };
      const { ok, problem } = await parts.ledger.health();
      // A ledger that works may still have something to say: a channel that is halted.
      const body = ok
        ? { status: 'ready', ...(problem === null ? {} : { problem }) }
        : { status: 'not ready', problem };
      return { ok, body };
    };
    const look = cachedCheck({ ...READINESS, check, now });
    const ready = async (): Promise<ServiceHealth> => {
      const health = await look();
      // Who decides limits is known here, and told as it is now.
      return health.ok ? { ok: true, body: { ...health.body, limits: parts.shared.limits.state } } : health;
    };
    const { mcpPort: port } = config;
    const further = port === undefined ? [] : [{ app: mcpApp(appBase, guard, ports), port, portVariable: 'MCP_PORT' }];
    return { publicApp: publicApp(appBase, guard, ports), further, adminApp: await adminAppOf(basics, parts), ready };
  };
  const ops = { metrics, checkTimeoutMs: 1500, log, now, newRequestId };
  await runService({ name: NAME, config, log, compose, opsApp: (checks) => opsApp({ ...ops, ...checks }) });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { otlpReceiver, redisAvailable, until } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import * as faults from './watched/faults.ts';
import type { Fault, Scene } from './watched/faults.ts';
import { watchPods } from './watched/pod-states.ts';
import { missingPrometheus, startPrometheus } from './watched/prometheus.ts';
import { openWatchedSite } from './watched/site.ts';
import { approveEvidence, makeWorld, steadyLoad } from './watched/world.ts';

/** Time of the rules passes this much faster: a scrape every half second in place of 15 s, an hour in two minutes. */
const FACTOR = 30;
/** More than the longest `for` and window that must pass before an alert fires, and before the last of them ends. */
const TOLD_WITHIN_MS = 150_000;
/** For this long no other alert follows: the `for` of every symptom of these faults. */
const ALONE_FOR_MS = 12_000;
const STORY_MS = 600_000;

const missing = missingPrometheus ?? (redisAvailable ? undefined : 'no `redis-server`');
const describeWatched = missing === undefined ? describe : describe.skip;
if (missing !== undefined) process.stderr.write(`SKIPPED: no alert is fired here: ${missing}\n`);

const told = ({ alert, service, severity }: Pick<Fault, 'alert' | 'service' | 'severity'>): string =>
  [alert, service, severity].join(' ');

describeWatched('Of each cause one alert fires', () => {
  let scene: Scene;
  const opened: (() => Promise<void>)[] = [];
  const startedMs = Date.now();
  beforeAll(async () => {
    const spans = await otlpReceiver();
    opened.push(() => spans.close());
    const site = await openWatchedSite({
      OTEL_EXPORTER_OTLP_ENDPOINT: spans.url,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    });
    opened.push(() => site.stop());
    const all = Object.values(site.pods);
    const pods = await watchPods(all);
    opened.push(() => pods.stop());
    const world = await makeWorld(site);
    const prometheus = await startPrometheus({ folder: site.folder, factor: FACTOR, podStates: pods.target });
    opened.push(() => prometheus.stop());
    prometheus.scrape(all);
    const load = steadyLoad(site, world, pods);
    opened.push(() => load.stop());
    scene = { site, world, load, pods, prometheus };
    await until(async () => (await firing()).length === 0 && scene.load.good['console']! > 3);
  }, setupTimeoutMs);
  afterAll(async () => {
    for (const release of opened.splice(0).reverse()) await release();
  }, setupTimeoutMs);

  const firing = async (): Promise<string[]> =>
    (await scene.prometheus.firing())
      .map(({ labels: { alertname = '', service, severity } }) =>
        told({ alert: alertname, severity: severity as 'page', ...(service === undefined ? {} : { service }) }),
      )
      .sort();

  /** Breaks all of these at once: each is told by its alert, and by no other; and all end once it is mended. */
  async function together(broken: readonly Fault[]): Promise<void> {
    const expected = broken.map(told).sort();
    const seen = new Set<string>();
    const look = async (): Promise<readonly string[]> => {
      const now = await firing();
      for (const one of now) seen.add(one);
      return now;
    };
    const isDecided = (now: readonly string[]): boolean =>
      now.length === expected.length || [...seen].some((one) => !expected.includes(one));
    const mends: (() => Promise<void>)[] = [];
    try {
      await Promise.all(broken.map(async (fault) => mends.push(await fault.begin(scene))));
      await until(async () => isDecided(await look()), { timeoutMs: TOLD_WITHIN_MS, what: expected.join(', ') });
      const aloneUntilMs = Date.now() + ALONE_FOR_MS;
      await until(async () => (await look(), Date.now() > aloneUntilMs), { timeoutMs: 2 * ALONE_FOR_MS });
    } finally {
      for (const mend of mends) await mend();
    }
    await until(async () => (await look()).length === 0, { timeoutMs: TOLD_WITHIN_MS, what: 'no alert' });
    expect([...seen].sort()).toEqual(expected);
  }

  it('if PostgreSQL is stopped', () => together([faults.databaseAway]), STORY_MS);
  it('if Redis is killed', () => together([faults.redisAway]), STORY_MS);
  it(
    'if keys are guessed, a secret is rotated on one side or missing, a receiver is gone, and the gate stalls',
    () =>
      together([
        ...[faults.keysGuessed, faults.sourceRotated, faults.receiverGone],
        ...[faults.secretMissing, faults.gateStalls],
      ]),
    STORY_MS,
  );
  it(
    'if a process is killed and another frozen',
    () => together([faults.processGone, faults.integratorFrozen]),
    STORY_MS,
  );
  it(
    'if a checkpoint is changed, a surface has no rights, and the table of archived records is locked',
    () => together([faults.checkpointForged, faults.rightsLost, faults.archiveLocked]),
    STORY_MS,
  );
  it(
    'if a process keeps crashing, a volume is full, and a surface is gone',
    () => together([faults.crashLoop, faults.checkpointsUnwritable, faults.surfaceGone]),
    STORY_MS,
  );

  it(
    'and every query of the dashboards has returned data meanwhile',
    async () => {
      await approveEvidence(scene.site, scene.world);
      const empty: string[] = [];
      for (const { place, query } of dashboardQueries()) {
        const series = await scene.prometheus.series(query, startedMs, Date.now());
        if (series === 0) empty.push(place);
      }
      expect(empty.sort()).toEqual(Object.keys(WITHOUT_DATA).sort());
    },
    STORY_MS,
  );
});

const dashboards = resolve(import.meta.dirname, '../../../infra/helm/files/dashboards');
const SERVICES = ['case-gate', 'console', 'ingest-gateway', 'ledger-peer', 'risk-partner'];
/** As Grafana computes it: four scrapes. */
const RATE_INTERVAL = '2s';

/** Panels that stay empty here, and why. */
const WITHOUT_DATA: Readonly<Record<string, string>> = {
  'Free space for checkpoints': 'the metrics of a kubelet',
  'console: Limits shared': 'the console has no rate limits of its own',
};

interface Board {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

/** Each query with the variables of this run. One of a surface is asked for each of them. */
function dashboardQueries(): { readonly place: string; readonly query: string }[] {
  return readdirSync(dashboards).flatMap((file) => {
    const { panels } = JSON.parse(readFileSync(join(dashboards, file), 'utf8')) as Board;
    return panels.flatMap(({ title, targets = [] }) =>
      targets.flatMap(({ expr }) => {
        const query = expr.replaceAll('$__rate_interval', RATE_INTERVAL);
        if (!query.includes('$service')) return [{ place: title, query }];
        return SERVICES.map((service) => ({
          place: `${service}: ${title}`,
          query: query.replaceAll('$service', service),
        }));
      }),
    );
  });
}

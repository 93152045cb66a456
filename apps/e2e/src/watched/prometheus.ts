import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { until } from '@sealgate/testing';
import { guard } from '../harness/guardian.ts';
import { quietPort } from '../harness/gateway-process.ts';
import { NAMESPACE } from './pod-states.ts';
import { quickRules } from './quick-rules.ts';
import type { Pod } from './site.ts';

/** Why there is no Prometheus; undefined where there is one. */
export const missingPrometheus: string | undefined =
  spawnSync('prometheus', ['--version']).status === 0 ? undefined : 'no `prometheus` on the PATH';

const rules = resolve(import.meta.dirname, '../../../../infra/helm/files/rules');
/** As the chart's ServiceMonitor and prometheus.yaml say. */
const SCRAPE_SECONDS = 15;

export interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A real Prometheus with our rules, whose time passes `factor` times as fast. */
export interface Prometheus {
  readonly url: string;
  /** Scrapes these pods from now on, and no others. */
  scrape(pods: readonly Pod[]): void;
  firing(): Promise<readonly FiringAlert[]>;
  /** The value of the first series of a query now. */
  value(query: string): Promise<string | undefined>;
  /** The number of series that a query returns over this range, with at least one value. */
  series(query: string, fromMs: number, toMs: number): Promise<number>;
  stop(): Promise<void>;
}

export async function startPrometheus(options: {
  readonly folder: string;
  readonly factor: number;
  /** Of the readiness of pods. */
  readonly podStates: string;
}): Promise<Prometheus> {
  const { folder, factor, podStates } = options;
  const home = join(folder, 'prometheus');
  mkdirSync(home);
  for (const file of readdirSync(rules))
    writeFileSync(join(home, file), quickRules(readFileSync(join(rules, file), 'utf8'), factor));
  const targets = join(home, 'targets.json');
  const scrape = (pods: readonly Pod[]): void => {
    const groups = pods.map(({ name, process }) => ({
      targets: [new URL(process.ops.origin).host],
      labels: { namespace: NAMESPACE, pod: name },
    }));
    writeFileSync(`${targets}.new`, JSON.stringify(groups));
    renameSync(`${targets}.new`, targets);
  };
  scrape([]);
  const interval = `${(SCRAPE_SECONDS * 1000) / factor}ms`;
  const config = {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: [join(home, '*.yaml')],
    scrape_configs: [
      { job_name: 'sealgate', honor_labels: true, file_sd_configs: [{ files: [targets], refresh_interval: '1s' }] },
      { job_name: 'kube-state-metrics', honor_labels: true, static_configs: [{ targets: [podStates] }] },
    ],
  };
  // JSON is YAML. A rule file ends in `.yaml`, this does not.
  writeFileSync(join(home, 'config.json'), JSON.stringify(config));
  const port = await quietPort();
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(home, 'config.json')}`,
      `--storage.tsdb.path=${join(home, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  guard(child);
  let said = '';
  child.stderr.on('data', (part: Buffer) => (said += part.toString()));
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> => fetch(`${url}/-/ready`).then(({ ok }) => ok);
  await until(async () => child.exitCode !== null || (await answers()), { timeoutMs: 30_000, what: 'Prometheus' });
  if (child.exitCode !== null) throw new Error(`Prometheus did not start:\n${said.slice(-2000)}`);
  return {
    url,
    scrape,
    async firing() {
      const { alerts } = (await dataOf(`${url}/api/v1/alerts`)) as { alerts: (FiringAlert & { state: string })[] };
      return alerts.filter(({ state }) => state === 'firing');
    },
    async value(query) {
      const { result } = (await dataOf(`${url}/api/v1/query?${new URLSearchParams({ query })}`)) as {
        result: { value: [number, string] }[];
      };
      return result[0]?.value[1];
    },
    async series(query, fromMs, toMs) {
      const asked = { query, start: String(fromMs / 1000), end: String(toMs / 1000), step: '1' };
      const { result } = (await dataOf(`${url}/api/v1/query_range?${new URLSearchParams(asked)}`)) as {
        result: { values: [number, string][] }[];
      };
      return result.filter(({ values }) => values.some(([, value]) => value !== 'NaN')).length;
    },
    async stop() {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill();
      await ended;
    },
  };
}

async function dataOf(url: string): Promise<unknown> {
  const answer = (await (await fetch(url)).json()) as { status: string; error?: string; data: unknown };
  if (answer.status !== 'success') throw new Error(answer.error);
  return answer.data;
}

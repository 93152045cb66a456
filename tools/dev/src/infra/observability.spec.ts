import { basename } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CATALOGUE } from '@sealgate/errors';
import { Metrics, REQUEST_SECONDS } from '@sealgate/observability';
import { projectFiles, readProjectFile, readYaml } from '../rules/project-files.ts';
import { dashboardFiles, namesOfPromql, ruleFiles, rules, ruleTestFiles } from './alert-rules.ts';
import { declaredMetrics } from './declared-metrics.ts';
import { describeWith } from './describe-with.fixture.ts';

/** Metrics of third parties: Prometheus itself, kube-state-metrics and the kubelet. */
const foreign = [
  'up',
  'ALERTS',
  'kube_pod_status_ready',
  'kubelet_volume_stats_available_bytes',
  'kubelet_volume_stats_capacity_bytes',
];
/** Labels added by the registry, Prometheus and Kubernetes, and those of third parties. */
const commonLabels = [
  ...['service', 'instance', 'job', 'namespace', 'pod', 'le', 'condition', 'persistentvolumeclaim'],
  ...['alertname', 'alertstate', 'severity', 'window'],
];
/** Values that are not in our sources. */
const foreignValues = ['sealgate', 'true', 'firing', 'page', '1h', '6h'];

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

const dashboards = dashboardFiles.map((path) => ({ path, board: JSON.parse(readProjectFile(path)) as Dashboard }));
const expressions = [
  ...rules.map(({ record, alert, expr }) => ({ place: record ?? alert ?? '', expr })),
  ...dashboards.flatMap(({ board }) =>
    board.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ place: `${board.uid}: ${title}`, expr })),
    ),
  ),
];
const { labels, texts } = declaredMetrics();
const kebab = (alert: string): string =>
  alert
    .replace(/^Sealgate/, '')
    .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase();

/** The names of declared metrics in a scrape; `processText` is a scrape of the metrics of every process. */
async function shownNames(): Promise<Set<string>> {
  const processText = await new Metrics('any').text();
  const shown = [...processText.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
  return new Set(
    [...labels.keys(), ...shown].flatMap((name) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`]),
  );
}

describe('rules and dashboards', () => {
  it('use metrics that the services expose', async () => {
    const known = new Set([...(await shownNames()), ...foreign, ...rules.map(({ record }) => record)]);
    const unknown = expressions.flatMap(({ place, expr }) =>
      namesOfPromql(expr)
        .metrics.filter((name) => !known.has(name))
        .map((name) => `${place}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  it('use labels and values that these metrics have', () => {
    const unknown = expressions.flatMap(({ place, expr }) => {
      const { metrics, labels: used, values } = namesOfPromql(expr);
      const bases = metrics.flatMap((name) => [name, name.replace(/_(?:bucket|sum|count)$/, '')]);
      const possible = new Set([...commonLabels, ...bases.flatMap((name) => labels.get(name) ?? [])]);
      const isValue = (value: string) =>
        rules.some(({ alert }) => alert === value) ||
        texts.has(value) ||
        Object.hasOwn(CATALOGUE, value) ||
        foreignValues.includes(value);
      return [...used.filter((label) => !possible.has(label)), ...values.filter((value) => !isValue(value))].map(
        (name) => `${place}: ${name}`,
      );
    });
    expect(unknown).toEqual([]);
  });

  it('would be caught with an unknown one', () => {
    expect(labels.get('http_requests_total')).toEqual(['route', 'method', 'status']);
    expect(labels.get('ledger_checkpoints_total')).toEqual([]);
    expect(labels.get('ledger_waiting_units')).toEqual([]);
    expect(labels.get('peer_event_lag_seconds')).toEqual([]);
    expect(labels.has('http_request_total')).toBe(false);
    expect(texts.has('5xx')).toBe(true);
    expect(texts.has('50x')).toBe(false);
  });

  it('use latency objectives that are bucket bounds, for every surface', () => {
    const promised = rules.filter(({ record }) => record === 'service_le:latency:promised').map(({ labels: of }) => of);
    for (const le of promised.map((of) => Number(of?.['le']))) {
      expect(REQUEST_SECONDS).toContain(le);
      expect(Number.isInteger(le)).toBe(false);
    }
    const values = projectFiles().filter((path) => path.startsWith('infra/helm/values/'));
    expect(promised.map((of) => of?.['service']).sort()).toEqual(values.map((path) => basename(path, '.yaml')).sort());
  });

  it('have dashboards with unique ids', () => {
    expect(dashboards.map(({ board }) => `infra/helm/files/dashboards/${board.uid}.json`)).toEqual(
      dashboards.map(({ path }) => path),
    );
    for (const { board } of dashboards)
      expect(board.panels.flatMap(({ targets = [] }) => targets).length).toBeGreaterThan(5);
  });
});

describe('alerts', () => {
  const alerts = rules.filter(({ alert }) => alert !== undefined);
  const names = [...new Set(alerts.map(({ alert = '' }) => alert))].sort();
  const pages = projectFiles().filter((path) => /^infra\/runbooks\/(?!README)/.test(path));

  it('have a severity, a summary, a description and a runbook', () => {
    for (const { alert = '', labels: of, annotations } of alerts) {
      expect(['page', 'ticket']).toContain(of?.['severity']);
      expect(annotations?.['summary']).toMatch(/\S/);
      expect(annotations?.['runbook']).toBe(`infra/runbooks/${kebab(alert)}.md`);
    }
  });

  it('have a runbook each, and each runbook an alert', () => {
    expect(pages).toEqual(names.map((name) => `infra/runbooks/${kebab(name)}.md`).sort());
  });

  it.each(pages)('%s has the four standard sections', (path) => {
    const page = readProjectFile(path);
    const [, alert = ''] = /^# (\w+)$/m.exec(page) ?? [];
    expect(`infra/runbooks/${kebab(alert)}.md`).toBe(path);
    expect([...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual([
      'What it means',
      'See',
      'Do',
      'Never',
    ]);
  });

  it('are each covered by a rule test', () => {
    const tests = ruleTestFiles.map((path) => JSON.stringify(readYaml(path))).join('\n');
    expect(names.filter((name) => !tests.includes(name))).toEqual([]);
  });
});

describeWith('promtool', (promtool) => {
  it('accepts the rules, and their tests pass', () => {
    expect(promtool(['check', 'rules', ...ruleFiles])).toMatchObject({ ok: true });
    expect(promtool(['test', 'rules', ...ruleTestFiles])).toMatchObject({ ok: true });
  }, 300_000);
});

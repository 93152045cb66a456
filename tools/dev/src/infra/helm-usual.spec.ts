import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { linksOf } from '../rules/markdown.ts';
import { parseYaml, projectFiles, readProjectFile } from '../rules/project-files.ts';
import { dashboardFiles, ruleFiles } from './alert-rules.ts';
import { chartSurfaces as surfaces } from './chart-names.ts';
import { describeWith } from './describe-with.fixture.ts';
import { named, podsOf, type Rendered, renderWith, templateOf } from './helm-render.fixture.ts';

const MONITOR = 'monitor={"enabled":true,"logs":["https://p.example/ledger/a.main"]}';

/** What users of other charts expect of one. */
describeWith('helm', (helm) => {
  const render = (surface: string, ...settings: string[]) => renderWith(helm, surface, ...settings);
  let folder = '';
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'sealgate-chart-'))));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is packaged with everything that an installation of each surface needs', () => {
    expect(helm(['package', 'infra/helm', '--destination', folder])).toMatchObject({ ok: true });
    const { version } = parseYaml(readProjectFile('infra/helm/Chart.yaml'))[0] as { version: string };
    const archive = join(folder, `sealgate-${version}.tgz`);
    for (const surface of surfaces) {
      const values = `infra/helm/values/${surface}.yaml`;
      const run = ['--kube-version', '1.31.0', '-f', values];
      const packed = helm(['template', 'shop', archive, ...run]);
      expect(packed).toMatchObject({ ok: true });
      expect(packed.output).toBe(helm(['template', 'shop', 'infra/helm', ...run]).output);
    }
    expect(helm(['show', 'readme', archive]).output.trim()).toBe(readProjectFile('infra/helm/README.md').trim());
  });

  it('says in one sentence what a bare installation lacks', () => {
    const { ok, errors } = helm(['template', 'shop', 'infra/helm', '--kube-version', '1.31.0']);
    expect(ok).toBe(false);
    for (const surface of surfaces) expect(errors).toContain(surface);
    expect(errors).toContain('No surface is chosen. Install each by its values file');
    expect(errors).not.toContain('schema');
  });

  it('names its resources as it is told', () => {
    expect(named(render('case-gate', 'nameOverride=door'), 'Deployment')).toEqual(['shop-door']);
    expect(named(render('case-gate', 'fullnameOverride=door'), 'Service')).toEqual(['door', 'door-ops']);
    const { errors } = templateOf(helm, 'case-gate', [`fullnameOverride=${'x'.repeat(49)}`]);
    expect(errors).toContain('/fullnameOverride');
  });

  it('labels every resource and pod, but no selector', () => {
    const all = [MONITOR, 'serviceMonitor.enabled=true'];
    const rendered = render('ledger-peer', 'commonLabels.team=desk', 'archive.enabled=true', ...all);
    type Labelled = Rendered & { metadata: { labels: Record<string, string> } };
    const without = (rendered as Labelled[]).filter(({ metadata }) => metadata.labels['team'] !== 'desk');
    expect(without.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
    expect(podsOf(rendered).map(({ metadata }) => metadata.labels['team'])).toEqual(podsOf(rendered).map(() => 'desk'));
    const both = render('ledger-peer', 'commonLabels.team=desk', 'podLabels.team=night');
    expect(podsOf(both).map(({ metadata }) => metadata.labels['team'])).toEqual(podsOf(both).map(() => 'night'));
    const selectors = rendered.map(({ spec }) => JSON.stringify([spec?.['selector'], spec?.['podSelector']]));
    expect(selectors.filter((selector) => selector.includes('team'))).toEqual([]);
    const own = ['commonLabels={"app.kubernetes.io/name":"x"}'];
    expect(templateOf(helm, 'ledger-peer', own).errors).toContain("invalid propertyName 'app.kubernetes.io/name'");
  });

  it('uses a service account that exists', () => {
    const own = render('risk-partner', 'serviceAccount.name=clerk');
    expect(named(own, 'ServiceAccount')).toEqual(['clerk']);
    const other = render('risk-partner', 'serviceAccount.create=false', 'serviceAccount.name=clerk');
    expect(named(other, 'ServiceAccount')).toEqual([]);
    for (const rendered of [own, other])
      expect(podsOf(rendered).find(({ kind }) => kind === 'Deployment')?.spec).toMatchObject({
        serviceAccountName: 'clerk',
        automountServiceAccountToken: false,
      });
    expect(templateOf(helm, 'risk-partner', ['serviceAccount.create=false']).errors).toContain('/serviceAccount/name');
  });

  it('takes variables from elsewhere, but no secret as text and none twice', () => {
    const node = { name: 'GATE_DEADLINE_MS', valueFrom: { configMapKeyRef: { name: 'tuning', key: 'deadline' } } };
    const rendered = render('case-gate', `extraEnv=[${JSON.stringify(node)}]`);
    for (const kind of ['Deployment', 'Job'])
      expect(podsOf(rendered).find((found) => found.kind === kind)?.spec.containers[0].env).toContainEqual(node);
    const refused = (...settings: string[]) => templateOf(helm, 'case-gate', settings).errors;
    expect(refused('extraEnv=[{"name":"SERVER_SECRETS","value":"x"}]')).toContain('/extraEnv/0');
    expect(refused('extraEnv=[{"name":"PORT","value":"1"}]')).toContain('/extraEnv/0/name');
    expect(refused('extraEnv=[{"name":"LOG_LEVEL"}]')).toContain('/extraEnv/0');
    for (const name of ['PUBLIC_URL', 'DATABASE_URL'])
      expect(refused(`extraEnv=[{"name":"${name}","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}]`)).toContain(
        `${name} is set twice`,
      );
  });

  it('adds resources of others, also as templates', () => {
    const text = 'kind: ExternalSecret\nmetadata: { name: "{{ .Release.Name }}-secrets" }';
    const rendered = render(
      'console',
      `extraObjects=[{"kind":"ConfigMap","metadata":{"name":"more"}},${JSON.stringify(text)}]`,
    );
    expect(named(rendered, 'ExternalSecret')).toEqual(['shop-secrets']);
    expect(named(rendered, 'ConfigMap')).toEqual(['more']);
  });

  it('has probes, names, mirrors, budgets and a history as they are set', () => {
    const rendered = render(
      'ledger-peer',
      ...['probes.startup.failureThreshold=600', 'revisionHistoryLimit=3', 'image.registry=mirror.example:5000/x'],
      ...['dnsConfig={"options":[{"name":"ndots","value":"2"}]}', 'dnsPolicy=ClusterFirst'],
      ...['hostAliases=[{"ip":"10.0.0.7","hostnames":["pg"]}]', 'podDisruptionBudget.minAvailable=50%'],
      ...['workloadAnnotations={"reload":"true"}', MONITOR],
    );
    for (const { kind, spec } of podsOf(rendered)) {
      expect(spec).toMatchObject({
        dnsPolicy: 'ClusterFirst',
        dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
        hostAliases: [{ ip: '10.0.0.7', hostnames: ['pg'] }],
      });
      expect(spec.containers[0]['image']).toMatch(/^mirror\.example:5000\/x\/sealgate\//);
      if (kind === 'StatefulSet')
        expect(spec.containers[0]).toMatchObject({
          startupProbe: { httpGet: { path: '/health/startup' }, failureThreshold: 600, periodSeconds: 2 },
        });
    }
    for (const found of rendered.filter(
      ({ kind, metadata }) => kind === 'StatefulSet' || (metadata.name === 'shop-ledger-peer' && kind === 'Deployment'),
    )) {
      expect(found.spec).toMatchObject({ revisionHistoryLimit: 3 });
      expect(found.metadata.annotations).toEqual({ reload: 'true' });
    }
    const budget = rendered.find(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budget?.spec).toMatchObject({ minAvailable: '50%' });
    expect(budget?.spec).not.toHaveProperty('maxUnavailable');
    expect(named(render('case-gate', 'podDisruptionBudget.enabled=false'), 'PodDisruptionBudget')).toEqual([]);
  });

  it('brings the rules and dashboards, unchanged', () => {
    expect(named(render('ledger-peer'), 'PrometheusRule')).toEqual([]);
    const rendered = render(
      'ledger-peer',
      ...['prometheusRule.enabled=true', 'prometheusRule.labels.release=prometheus', 'dashboards.enabled=true'],
    );
    const found = rendered.filter(({ kind }) => kind === 'PrometheusRule');
    expect(found.map(({ spec }) => spec)).toEqual(ruleFiles.map((path) => parseYaml(readProjectFile(path))[0]));
    for (const { metadata } of found) expect(metadata).toMatchObject({ labels: { release: 'prometheus' } });
    const boards = rendered.find(({ metadata }) => metadata.name === 'shop-ledger-peer-dashboards') as unknown as {
      metadata: object;
      data: Record<string, string>;
    };
    expect(boards.metadata).toMatchObject({ labels: { grafana_dashboard: '1' } });
    expect(Object.entries(boards.data).map(([name, text]) => [name, JSON.parse(text)])).toEqual(
      dashboardFiles.map((path) => [basename(path), JSON.parse(readProjectFile(path))]),
    );
  });

  it('has a page whose links stay inside the package', () => {
    const outside = projectFiles()
      .filter((path) => /^infra\/helm\/.*\.md$/.test(path))
      .flatMap((path) => linksOf(readProjectFile(path)).filter(({ target }) => target.startsWith('..')));
    expect(outside).toEqual([]);
  });
});

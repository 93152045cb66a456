import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import { describeWith } from './describe-with.fixture.ts';
import { envOf, named, podsOf, renderWith, templateOf, type Container, type Rendered } from './helm-render.fixture.ts';

const monitored = ['monitor.enabled=true', 'monitor.logs={https://peer.example/ledger/acme.main}'];
const witnessed = ['integrator.witnesses.policy.configMap=witnesses', 'integrator.witnesses.waitMs=2500'];

interface MonitorPod {
  readonly containers: readonly [Container & { readonly image: string; readonly args: readonly string[] }];
  readonly volumes: readonly { readonly name: string }[];
}

const monitorOf = (rendered: readonly Rendered[]): MonitorPod => {
  const found = rendered.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-monitor'));
  return found?.spec?.template?.spec as unknown as MonitorPod;
};

describeWith('helm', (helm) => {
  const render = (...settings: string[]) => renderWith(helm, 'ledger-peer', ...settings);

  it('configures witnesses for the integrator only', () => {
    const rendered = render(...witnessed);
    expect(envOf(rendered, 'StatefulSet')).toMatchObject({
      LEDGER_WITNESS_POLICY: 'file:///etc/sealgate/witnesses/witnesses.policy',
      LEDGER_WITNESS_WAIT_MS: '2500',
    });
    const integrator = podsOf(rendered).find(({ kind }) => kind === 'StatefulSet')?.spec;
    expect(integrator?.containers[0].volumeMounts).toContainEqual({
      name: 'witnesses',
      mountPath: '/etc/sealgate/witnesses',
      readOnly: true,
    });
    expect(integrator?.['volumes']).toContainEqual({ name: 'witnesses', configMap: { name: 'witnesses' } });
    for (const kind of ['Deployment', 'Job'])
      expect(Object.keys(envOf(rendered, kind)).filter((name) => name.includes('WITNESS'))).toEqual([]);
    expect(envOf(render(), 'StatefulSet')).not.toHaveProperty('LEDGER_WITNESS_POLICY');
  });

  it('runs a monitor that no Service, PodDisruptionBudget or test selects as a server', () => {
    expect(JSON.stringify(render())).not.toContain('-monitor');
    const rendered = render(...monitored, 'serviceMonitor.enabled=true');
    const pod = podsOf(rendered).find(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === 'monitor');
    expect(pod?.metadata.labels['app.kubernetes.io/name']).toBe('ledger-peer-monitor');
    const selectors = rendered.flatMap(({ kind, metadata, spec }) =>
      kind === 'Service' ? [[metadata.name, spec?.['selector']]] : [],
    );
    expect(selectors.filter(([, of]) => JSON.stringify(of).includes('ledger-peer-monitor'))).toEqual([
      [
        'shop-ledger-peer-monitor',
        { 'app.kubernetes.io/name': 'ledger-peer-monitor', 'app.kubernetes.io/instance': 'shop' },
      ],
    ]);
    // Scraped like the rest of the release: the ServiceMonitor selects by the labels of Services.
    const { matchLabels } = rendered.find(({ kind }) => kind === 'ServiceMonitor')?.spec?.['selector'] as {
      matchLabels: object;
    };
    const service = rendered.find(({ kind, metadata }) => kind === 'Service' && metadata.name.endsWith('-monitor'));
    expect(service?.metadata).toMatchObject({ labels: matchLabels });
  });

  it("starts it with the verifier's options, and mounts their files", () => {
    const { containers, volumes } = monitorOf(
      render(...monitored, 'monitor.policy.configMap=w', 'monitor.bearer.name=b', 'ca.configMap=authority'),
    );
    const [{ args, image, volumeMounts = [] }] = containers;
    expect(image).toMatch(/^sealgate\/verify:\d/);
    expect(volumeMounts.map(({ name }) => name).toSorted()).toEqual(volumes.map(({ name }) => name).toSorted());
    for (const [, path = ''] of args.join('\n').matchAll(/=(\/etc\/[^\n]*|\/state\/[^\n]*)/g))
      expect(volumeMounts.map(({ mountPath }) => mountPath)).toContain(path.slice(0, path.lastIndexOf('/')));
    expect(args.slice(0, 3)).toEqual(['main.js', 'monitor', 'https://peer.example/ledger/acme.main']);
    // The command line accepts all options; it fails because the files of the pod do not exist here.
    const program = join(workspaceRoot, 'tools/verify/src/main.ts');
    const { status, stderr } = spawnSync(process.execPath, [program, ...args.slice(1)], { encoding: 'utf8', cwd: '/' });
    expect(status).toBe(2);
    expect(stderr).toContain('monitor: /etc/sealgate/log/LEDGER_VERIFIER_KEYS cannot be read: ENOENT.\n');
  });

  it('runs as a CronJob without a listener if configured', () => {
    const rendered = render(...monitored, 'monitor.schedule=*/10 * * * *');
    expect(named(rendered, 'CronJob')).toEqual(['shop-ledger-peer-monitor']);
    expect(named(rendered, 'Deployment')).toEqual(['shop-ledger-peer']);
    expect(named(rendered, 'PersistentVolumeClaim')).toContain('shop-ledger-peer-monitor');
    const job = rendered.find(({ kind }) => kind === 'CronJob')?.spec;
    expect(job).toMatchObject({ concurrencyPolicy: 'Forbid', jobTemplate: { spec: { backoffLimit: 0 } } });
    expect(JSON.stringify(job)).not.toContain('--every');
    const policy = rendered.find(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-monitor'),
    );
    expect(policy?.spec).not.toHaveProperty('ingress');
  });

  it.each([
    ['a monitor without a log', ['monitor.enabled=true']],
    ['a monitor without a key', [...monitored, 'verifierKeys.configMap=']],
    ['a log that is not a URL', ['monitor.enabled=true', 'monitor.logs={acme.main}']],
    ['an invalid cron schedule', [...monitored, 'monitor.schedule=sometimes']],
    ['witnesses without an integrator', [...witnessed, 'integrator.enabled=false']],
    ['witnesses from two places', [...witnessed, 'env.LEDGER_WITNESS_POLICY=x']],
    ['a wait that the service rejects', ['integrator.witnesses.waitMs=99']],
  ])('rejects %s', (_what, settings) => {
    const { ok, errors } = templateOf(helm, 'ledger-peer', settings);
    expect(ok).toBe(false);
    expect(errors).toMatch(/schema/);
  });
});

import { expect, it } from '@jest/globals';
import { parseYaml, readProjectFile } from '../rules/project-files.ts';
import { migratedSurfaces as surfaces, namesOfRelease } from './chart-names.ts';
import { describeWith } from './describe-with.fixture.ts';
import { type Container, envOf, named, podsOf, type Rendered, renderWith, templateOf } from './helm-render.fixture.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}`;

describeWith('helm', (helm) => {
  const render = (surface: string, ...settings: string[]) => renderWith(helm, surface, ...settings);

  it('keeps checkpoints on a claim that can grow and is kept after the release', () => {
    const rendered = render('ledger-peer', 'integrator.checkpoints.size=50Gi');
    const claim = rendered.find(({ kind }) => kind === 'PersistentVolumeClaim');
    expect(claim?.metadata).toMatchObject({
      name: 'checkpoints-shop-ledger-peer-integrator-0',
      annotations: { 'helm.sh/resource-policy': 'keep' },
    });
    expect(claim?.spec).toMatchObject({ resources: { requests: { storage: '50Gi' } } });
    const integrator = rendered.find(({ kind }) => kind === 'StatefulSet');
    expect(integrator?.spec).not.toHaveProperty('volumeClaimTemplates');
    expect(integrator?.spec?.template?.spec['volumes']).toContainEqual({
      name: 'checkpoints',
      persistentVolumeClaim: { claimName: 'checkpoints-shop-ledger-peer-integrator-0' },
    });
  });

  it('compares the sizes of claims in every unit of Kubernetes', () => {
    const sizes = {
      '1048576': '1048576',
      '1.5Gi': '1610612736',
      '2Ti': '2199023255552',
      '3G': '3000000000',
      '5k': '5000',
    };
    const lines = Object.keys(sizes).map(
      (size) => `${size}: '{{ include "sealgate.bytes" "${size}" | float64 | int64 }}'`,
    );
    const text = ['kind: ConfigMap', 'metadata: { name: sizes }', 'data:', ...lines.map((line) => `  ${line}`)].join(
      '\n',
    );
    const rendered = render('console', `extraObjects=${JSON.stringify([text])}`);
    expect(rendered.find(({ kind }) => kind === 'ConfigMap')).toMatchObject({ data: sizes });
  });

  it('keeps the archive on a claim that is kept after the release, and that only the integrator writes', () => {
    const rendered = render(
      'ledger-peer',
      'archive.enabled=true',
      'archive.size=2Ti',
      'archive.storageClassName=shared',
    );
    const claims = rendered.filter(({ kind }) => kind === 'PersistentVolumeClaim');
    const claim = claims.find(({ metadata }) => metadata.name === 'archive-shop-ledger-peer');
    expect(claim?.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    expect(claim?.spec).toEqual({
      accessModes: ['ReadWriteMany'],
      storageClassName: 'shared',
      resources: { requests: { storage: '2Ti' } },
    });
    for (const [kind, readOnly] of [
      ['Deployment', true],
      ['StatefulSet', false],
    ] as const) {
      expect(envOf(rendered, kind)).toMatchObject({ LEDGER_ARCHIVE_DIR: '/archive' });
      const pod = podsOf(rendered).find((found) => found.kind === kind);
      expect(pod?.spec.containers[0].volumeMounts).toContainEqual({ name: 'archive', mountPath: '/archive', readOnly });
      expect(pod?.spec['volumes']).toContainEqual({
        name: 'archive',
        persistentVolumeClaim: { claimName: 'archive-shop-ledger-peer' },
      });
    }
    expect(envOf(rendered, 'Job')).not.toHaveProperty('LEDGER_ARCHIVE_DIR');
    const other = render('ingest-gateway', 'archive.enabled=true', 'archive.claimName=archive-shop-ledger-peer');
    expect(named(other, 'PersistentVolumeClaim')).toEqual([]);
    expect(podsOf(other).find(({ kind }) => kind === 'Deployment')?.spec['volumes']).toContainEqual({
      name: 'archive',
      persistentVolumeClaim: { claimName: 'archive-shop-ledger-peer' },
    });
    expect(envOf(render('ledger-peer'), 'StatefulSet')).not.toHaveProperty('LEDGER_ARCHIVE_DIR');
  });

  it('sends spans to a configured collector, and allows that egress', () => {
    const traced = render('ledger-peer', 'tracing.endpoint=http://collector:4318', 'tracing.share=0.1');
    expect(envOf(traced, 'Deployment')).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    });
    expect(JSON.stringify(traced)).toContain('{"port":4318}');
    const plain = render('ledger-peer');
    expect(envOf(plain, 'Deployment')).not.toHaveProperty('OTEL_EXPORTER_OTLP_ENDPOINT');
    expect(JSON.stringify(plain)).not.toContain('4318');
    expect(() => render('ledger-peer', 'tracing.endpoint=collector:4318')).toThrow('tracing');
  });

  it.each(surfaces)('configures every pod of %s with the keys of the log', (surface) => {
    for (const { kind, spec } of podsOf(render(surface, 'integrator.enabled=true', 'integrator.signingKey.name=key')))
      expect(spec.containers[0].env.map(({ name }) => name).includes('LEDGER_VERIFIER_KEYS')).toBe(kind !== 'Job');
  });

  it("gives the migration the service's files, settings, CA and volumes", () => {
    const rendered = render(
      'ledger-peer',
      'files=[{"path":"/a","secret":"a"},{"path":"/b","configMap":"b"}]',
      'ca.secret=authority',
      'migration.env.LOG_LEVEL=debug',
      'extraVolumes=[{"name":"sockets","emptyDir":{}}]',
      'extraVolumeMounts=[{"name":"sockets","mountPath":"/sockets"}]',
      'extraInitContainers=[{"name":"proxy","image":"proxy","restartPolicy":"Always"}]',
    );
    for (const kind of ['Job', 'Deployment', 'StatefulSet']) {
      const pod = podsOf(rendered).find((found) => found.kind === kind);
      const [{ volumeMounts = [] }] = pod?.spec.containers ?? [{}];
      expect(volumeMounts.map(({ mountPath }) => mountPath)).toEqual(
        expect.arrayContaining(['/a', '/b', '/etc/sealgate/ca', '/sockets']),
      );
      const volumes = pod?.spec['volumes'] as readonly { readonly name: string }[];
      const names = volumes.map(({ name }) => name);
      expect(volumeMounts.map(({ name }) => name).filter((name) => !names.includes(name))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
      expect(pod?.spec['initContainers']).toMatchObject([{ name: 'proxy' }]);
      expect(envOf(rendered, kind)).toMatchObject({
        NODE_EXTRA_CA_CERTS: '/etc/sealgate/ca/ca.crt',
        MAPPING_FILE: expect.any(String),
      });
    }
    expect(envOf(rendered, 'Job')).toMatchObject({ LOG_LEVEL: 'debug' });
    expect(envOf(rendered, 'Deployment')).not.toHaveProperty('LOG_LEVEL');
  });

  it('uses an image digest in every pod', () => {
    for (const { spec } of podsOf(render('ledger-peer', `image.digest=${DIGEST}`, 'image.tag=v9')))
      expect(spec.containers[0]['image']).toBe(`sealgate/ledger-peer@${DIGEST}`);
  });

  it('lets labels, placement, sidecars and the update strategy of pods be configured', () => {
    const rendered = render(
      'ledger-peer',
      'podLabels.team=evidence',
      'nodeSelector.disk=fast',
      'affinity={"nodeAffinity":{}}',
      'tolerations=[{"key":"evidence","operator":"Exists"}]',
      'topologySpreadConstraints=[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]',
      'extraContainers=[{"name":"shipper","image":"shipper"}]',
      'strategy.type=Recreate',
    );
    for (const { kind, metadata, spec } of podsOf(rendered)) {
      expect(metadata.labels).toMatchObject({ team: 'evidence', 'app.kubernetes.io/part-of': 'sealgate' });
      expect(spec).toMatchObject({
        nodeSelector: { disk: 'fast' },
        affinity: { nodeAffinity: {} },
        tolerations: [{ key: 'evidence' }],
      });
      const names = (spec.containers as readonly object[]).map((container) => (container as { name: string }).name);
      // An ordinary sidecar would keep the job running for ever.
      expect(names).toEqual(kind === 'Job' ? ['migrate'] : ['ledger-peer', 'shipper']);
    }
    const deployment = rendered.find(({ kind }) => kind === 'Deployment');
    expect(deployment?.spec).toMatchObject({ strategy: { type: 'Recreate' } });
    expect(deployment?.spec?.template?.spec['topologySpreadConstraints']).toHaveLength(1);
    expect(deployment?.spec?.['strategy']).not.toHaveProperty('rollingUpdate');
    expect(render('case-gate').find(({ kind }) => kind === 'Deployment')?.spec).toMatchObject({
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
  });

  it('routes to the public listener by an Ingress or a Gateway', () => {
    const rendered = render(
      'case-gate',
      'ingress={"enabled":true,"hosts":["gate.example.com"],"tlsSecretName":"front"}',
      'httpRoute={"enabled":true,"hostnames":["gate.example.com"],"parentRefs":[{"name":"edge"}]}',
    );
    expect(rendered.find(({ kind }) => kind === 'Ingress')?.spec).toMatchObject({
      tls: [{ hosts: ['gate.example.com'], secretName: 'front' }],
      rules: [{ http: { paths: [{ backend: { service: { name: 'shop-case-gate', port: { name: 'public' } } } }] } }],
    });
    expect(rendered.find(({ kind }) => kind === 'HTTPRoute')?.spec).toMatchObject({
      parentRefs: [{ name: 'edge' }],
      hostnames: ['gate.example.com'],
      rules: [{ backendRefs: [{ name: 'shop-case-gate', port: 443 }] }],
    });
    expect(named(render('case-gate'), 'Ingress')).toEqual([]);
  });

  it('is tested by a pod that may reach its processes, and is not a server', () => {
    const rendered = render('case-gate');
    const pod = rendered.find(({ kind }) => kind === 'Pod');
    expect(pod?.metadata).toMatchObject({ name: 'shop-case-gate-test', annotations: { 'helm.sh/hook': 'test' } });
    const [check] = (pod?.spec?.['containers'] ?? []) as readonly Container[];
    expect(check?.args?.slice(0, 2)).toEqual(['--input-type=module', '-e']);
    expect(check?.args?.[2]?.trim()).toBe(readProjectFile('infra/helm/files/check.mjs').trim());
    expect(Object.fromEntries(check?.env.map(({ name, value }) => [name, value]) ?? [])).toEqual({
      OPS: 'http://shop-case-gate-ops:8081',
      PUBLIC: 'https://shop-case-gate:443',
      WAIT_SECONDS: '75',
    });
    const server = rendered.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-server'));
    expect(JSON.stringify(server?.spec?.['ingress'])).toContain('case-gate-test');
  });

  it.each(surfaces)('names the resources of %s as in the pages for operators', (surface) => {
    const settings = ['integrator.enabled=true', 'integrator.signingKey.name=key', 'ingress.enabled=true'];
    const isArchived = surface === 'ledger-peer' || surface === 'ingest-gateway';
    settings.push('ingress.hosts={a.example.com}', `archive.enabled=${isArchived}`);
    settings.push('monitor.enabled=true', 'monitor.logs={https://peer.example/ledger/acme.main}');
    settings.push('admin.service.enabled=true', 'env.OIDC_ISSUERS=[{}]', 'env.ADMIN_OIDC=[{}]');
    settings.push('dashboards.enabled=true');
    const { output } = templateOf(helm, surface, settings, surface);
    const rendered = parseYaml(output) as Rendered[];
    for (const [kind, names] of namesOfRelease(surface))
      expect({ kind, names: named(rendered, kind) }).toEqual({
        kind,
        names: ['CronJob', 'HTTPRoute', 'HorizontalPodAutoscaler', 'ServiceMonitor'].includes(kind)
          ? []
          : expect.arrayContaining([...names].filter((name) => isArchived || !name.startsWith('archive-'))),
      });
  });
});

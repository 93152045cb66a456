import { expect, it } from '@jest/globals';
import { chartSurfaces as surfaces, migratedSurfaces } from './chart-names.ts';
import { configuredSurfaces } from './config-tables.ts';
import { describeWith } from './describe-with.fixture.ts';
import { envOf, named, podsOf, policyOf, renderWith, templateOf } from './helm-render.fixture.ts';

/** Settings that let the console reach the admin listener. */
const adminService = ['admin.service.enabled=true', 'env.OIDC_ISSUERS=[{}]', 'env.ADMIN_OIDC=[{}]'];

describeWith('helm', (helm) => {
  const render = (surface: string, ...settings: string[]) => renderWith(helm, surface, ...settings);

  it.each(surfaces)('runs pods of %s with the least privileges', (surface) => {
    expect(helm(['lint', 'infra/helm', '-f', `infra/helm/values/${surface}.yaml`]).ok).toBe(true);
    const isMigrated = migratedSurfaces.includes(surface);
    const pods = podsOf(
      render(surface, ...(isMigrated ? ['integrator.enabled=true', 'integrator.signingKey.name=key'] : [])),
    );
    expect(pods.map(({ kind }) => kind).sort()).toEqual(
      isMigrated ? ['Deployment', 'Job', 'StatefulSet'] : ['Deployment'],
    );
    for (const { spec } of pods) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        privileged: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(spec.containers[0]['resources']).toMatchObject({ limits: { memory: expect.any(String) } });
    }
  });

  it.each(configuredSurfaces)(
    'sets only known variables of $app, each once, and no secret as text',
    ({ app, variables }) => {
      const known = new Map(variables.map((variable) => [variable.name, variable]));
      for (const { spec } of podsOf(render(app))) {
        const { env } = spec.containers[0];
        expect(env.filter(({ name }) => !known.has(name))).toEqual([]);
        expect(new Set(env.map(({ name }) => name)).size).toBe(env.length);
        expect(env.filter(({ name, value }) => value !== undefined && known.get(name)?.isSecret === true)).toEqual([]);
      }
    },
  );

  it('gives the migration role only to the migration job, which runs first', () => {
    const rendered = render('ingest-gateway');
    const job = rendered.find(({ kind }) => kind === 'Job');
    expect(job?.metadata.annotations).toMatchObject({
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': '0',
    });
    expect(Object.keys(envOf(rendered, 'Job')).sort()).toEqual([
      'ADMIN_DATABASE_URL',
      'DATABASE_URL',
      'LEDGER_ORIGIN',
      'MIGRATION_DATABASE_URL',
      'PUBLIC_URL',
    ]);
    // The integrator and the mapping decide the grants of the peer's role.
    const ofPeer = render('ledger-peer');
    expect(envOf(ofPeer, 'Job')).toMatchObject({ LEDGER_INTEGRATOR: 'true', MAPPING_FILE: expect.any(String) });
    const [migrate] = ofPeer.find(({ kind }) => kind === 'Job')?.spec?.template?.spec.containers ?? [];
    expect(migrate).toMatchObject({ volumeMounts: [{ mountPath: '/etc/sealgate/mapping' }] });
    expect(job?.spec?.template?.spec.containers[0].args).toEqual(['migrate.js']);
    expect(envOf(rendered, 'Deployment')).not.toHaveProperty('MIGRATION_DATABASE_URL');
    const policies = rendered
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .map(({ metadata }) => metadata.annotations);
    expect(policies.filter((found) => found?.['helm.sh/hook-weight'] === '-1')).toHaveLength(1);
  });

  it.each([
    ['ledger-peer', ['Deployment', 'StatefulSet', 'Job']],
    ['ingest-gateway', ['Deployment', 'Job']],
  ] as const)('gives %s and its job the role for operators, so that it may audit every channel', (surface, kinds) => {
    const rendered = render(surface);
    for (const kind of kinds) expect(Object.keys(envOf(rendered, kind))).toContain('ADMIN_DATABASE_URL');
    const text = JSON.stringify(rendered);
    expect(text).toContain(`{"name":"${surface}","key":"ADMIN_DATABASE_URL"}`);
  });

  it('gives the signing key and a volume to one process that serves no requests', () => {
    const rendered = render('ledger-peer');
    expect(envOf(rendered, 'StatefulSet')).toMatchObject({
      HOST: '127.0.0.1',
      LEDGER_INTEGRATOR: 'true',
      CHECKPOINT_DIR: '/checkpoints',
    });
    expect(envOf(rendered, 'StatefulSet')).toHaveProperty('LEDGER_SIGNING_KEY');
    expect(envOf(rendered, 'Deployment')).not.toHaveProperty('LEDGER_SIGNING_KEY');
    expect(envOf(rendered, 'Deployment')).not.toHaveProperty('LEDGER_INTEGRATOR');
    const pod = podsOf(rendered).find(({ kind }) => kind === 'StatefulSet');
    expect(pod?.spec.containers[0].volumeMounts).toContainEqual({ name: 'checkpoints', mountPath: '/checkpoints' });
    const selectors = rendered
      .filter(({ kind }) => kind === 'Service')
      .map(({ metadata, spec }) => [metadata.name, spec?.['selector']]);
    expect(Object.fromEntries(selectors)['shop-ledger-peer']).toMatchObject({
      'app.kubernetes.io/component': 'server',
    });
    expect(pod?.metadata.labels).toMatchObject({ 'app.kubernetes.io/component': 'integrator' });
  });

  it('allows time for the drain, and configures the service with it', () => {
    const rendered = render('ingest-gateway', 'drain.delaySeconds=15', 'drain.timeoutSeconds=100');
    expect(envOf(rendered, 'Deployment')).toMatchObject({ DRAIN_DELAY_MS: '15000', DRAIN_TIMEOUT_MS: '100000' });
    expect(podsOf(rendered).find(({ kind }) => kind === 'Deployment')?.spec).toMatchObject({
      terminationGracePeriodSeconds: 160,
    });
    // `helm test` waits for processes that an upgrade replaced.
    const test = rendered.find(({ kind }) => kind === 'Pod')?.spec?.['containers'];
    expect(test).toMatchObject([{ env: expect.arrayContaining([{ name: 'WAIT_SECONDS', value: '160' }]) }]);
  });

  it('sets REPLICAS to the maximum number of replicas', () => {
    expect(envOf(render('case-gate', 'replicas=4'), 'Deployment')).toMatchObject({ REPLICAS: '4' });
    const scaled = render('case-gate', 'autoscaling.enabled=true', 'autoscaling.maxReplicas=9');
    expect(envOf(scaled, 'Deployment')).toMatchObject({ REPLICAS: '9' });
    expect(scaled.find(({ kind }) => kind === 'Deployment')?.spec).not.toHaveProperty('replicas');
    expect(named(scaled, 'HorizontalPodAutoscaler')).toEqual(['shop-case-gate']);
    expect(named(render('case-gate', 'replicas=1'), 'PodDisruptionBudget')).toEqual([]);
  });

  it('keeps the label that alert rules use', () => {
    const monitor = render('risk-partner', 'serviceMonitor.enabled=true').find(({ kind }) => kind === 'ServiceMonitor');
    expect(monitor?.spec).toMatchObject({ jobLabel: 'app.kubernetes.io/part-of', endpoints: [{ honorLabels: true }] });
  });

  it('serves TLS in the pod, or sets TLS_TERMINATED_UPSTREAM', () => {
    expect(envOf(render('case-gate'), 'Deployment')).toMatchObject({ TLS_CERT_FILE: '/etc/sealgate/tls/tls.crt' });
    const upstream = envOf(render('case-gate', 'tls.secretName=', 'tls.terminatedUpstream=true'), 'Deployment');
    expect(upstream).toMatchObject({ HOST: '0.0.0.0', TLS_TERMINATED_UPSTREAM: 'true' });
    expect(upstream).not.toHaveProperty('TLS_CERT_FILE');
  });

  it('lets only the console reach the admin listener of servers, if enabled', () => {
    const plain = render('ledger-peer');
    expect(named(plain, 'Service')).not.toContain('shop-ledger-peer-admin');
    expect(envOf(plain, 'Deployment')).toMatchObject({ ADMIN_HOST: '127.0.0.1' });
    expect(JSON.stringify(policyOf(plain, 'server'))).not.toContain('"port":"admin"');

    const rendered = render('ledger-peer', ...adminService, 'admin.port=9443');
    const service = rendered.find(({ metadata }) => metadata.name === 'shop-ledger-peer-admin');
    expect(service?.spec).toMatchObject({
      type: 'ClusterIP',
      selector: { 'app.kubernetes.io/component': 'server' },
      ports: [{ port: 9443, targetPort: 'admin' }],
    });
    expect(envOf(rendered, 'Deployment')).toMatchObject({ ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '9443' });
    expect(envOf(rendered, 'StatefulSet')).toMatchObject({ ADMIN_HOST: '127.0.0.1', ADMIN_PORT: '9443' });
    const portsOf = (kind: string) =>
      podsOf(rendered).find((found) => found.kind === kind)?.spec.containers[0]['ports'] as readonly object[];
    expect(portsOf('Deployment')).toContainEqual({ name: 'admin', containerPort: 9443 });
    expect(JSON.stringify(portsOf('StatefulSet'))).not.toContain('admin');

    const console = {
      'app.kubernetes.io/name': 'console',
      'app.kubernetes.io/part-of': 'sealgate',
      'app.kubernetes.io/component': 'server',
    };
    const toAdmin = policyOf(rendered, 'server').filter(({ ports }) => ports.some(({ port }) => port === 'admin'));
    expect(toAdmin).toEqual([
      { ports: [{ port: 'ops' }, { port: 'admin' }], from: [{ podSelector: { matchLabels: console } }] },
    ]);
    expect(JSON.stringify(policyOf(rendered, 'integrator'))).not.toContain('"port":"admin"');
    const pod = podsOf(render('console')).find(({ kind }) => kind === 'Deployment');
    expect(pod?.metadata.labels).toMatchObject(console);

    const elsewhere = [{ namespaceSelector: { matchLabels: { team: 'desk' } }, podSelector: {} }];
    const told = policyOf(
      render('ledger-peer', ...adminService, `networkPolicy={"consoleFrom":${JSON.stringify(elsewhere)}}`),
      'server',
    );
    expect(told.filter(({ ports }) => ports.some(({ port }) => port === 'admin'))).toEqual([
      { ports: [{ port: 'ops' }, { port: 'admin' }], from: elsewhere },
    ]);
  });

  it.each([
    ['an unknown value', ['replica=3']],
    ['a public listener without TLS', ['tls.secretName=']],
    ['TLS in both places', ['tls.terminatedUpstream=true']],
    ['a secret as text', ['env.SERVER_SECRETS=s1:x']],
    ['a variable that the chart sets itself', ['env.HOST=0.0.0.0']],
    ['the migration URL for the service', ['secrets.MIGRATION_DATABASE_URL.name=x']],
    ['the value of a secret', ['secrets.DATABASE_URL.value=x']],
    ['a migration without its URL', ['migration.databaseUrl=null']],
    ['an integrator without its key', ['integrator.enabled=true']],
    [
      'an integrator without verifier keys for its servers',
      ['integrator.enabled=true', 'integrator.signingKey.name=key', 'verifierKeys.configMap='],
    ],
    ['keys of the log from two places', ['env.LEDGER_VERIFIER_KEYS=x']],
    ['an image of half a digest', ['image.digest=sha256:abcd']],
    ['a CA from two places', ['ca.secret=a', 'ca.configMap=b']],
    ["a label of the chart's selectors", ['podLabels.app\\.kubernetes\\.io/name=x']],
    ['an Ingress without a host', ['ingress.enabled=true']],
    ['a route without a Gateway', ['httpRoute.enabled=true']],
    ['a secret for the migration as text', ['migration.env.MIGRATION_DATABASE_URL=x']],
    [
      'an integrator with Fabric',
      ['integrator.enabled=true', 'integrator.signingKey.name=key', 'env.LEDGER_DRIVER=fabric'],
    ],
    ['an admin listener without tokens', ['secrets.ADMIN_TOKEN_HASHES=null']],
    ['an archive in two places', ['archive.enabled=true', 'env.LEDGER_ARCHIVE_DIR=/a']],
    ['an archive with Fabric', ['archive.enabled=true', 'env.LEDGER_DRIVER=fabric']],
    ['an archive of a surface that reads none', ['surface=case-gate', 'archive.enabled=true']],
    ['a read-only archive', ['archive.enabled=true', 'archive.accessMode=ReadOnlyMany']],
    ['an unknown surface', ['surface=wallet']],
    ['a surface without its database', ['secrets.DATABASE_URL=null']],
    ['a Service of the admin listener without an issuer', ['admin.service.enabled=true']],
    ['one without a rule for roles', ['admin.service.enabled=true', 'env.OIDC_ISSUERS=[{}]']],
    ['one with an empty rule', [...adminService, 'env.ADMIN_OIDC=']],
    ['one without TLS in the pod', [...adminService, 'tls.secretName=', 'tls.terminatedUpstream=true']],
    ['one without a network policy', [...adminService, 'networkPolicy.enabled=false']],
    ['one of a disabled admin listener', [...adminService, 'admin.enabled=false']],
    ['an admin listener of the console', ['surface=console', 'migration.enabled=false']],
  ])('rejects %s', (_what, settings) => {
    const { ok, errors } = templateOf(helm, 'ingest-gateway', settings);
    expect(ok).toBe(false);
    expect(errors).toMatch(/schema/);
  });
});

import type { AskCluster } from './cluster.fixture.ts';

/** The kinds of other projects that the chart can create: no controller of them runs here, so any content is stored. */
const KINDS = [
  { group: 'gateway.networking.k8s.io', version: 'v1', kind: 'HTTPRoute' },
  { group: 'monitoring.coreos.com', version: 'v1', kind: 'ServiceMonitor' },
  { group: 'monitoring.coreos.com', version: 'v1', kind: 'PrometheusRule' },
] as const;

/** Adds them, for the role `admin` too, as their own charts do, and a class of volumes that can grow. */
export async function furnishCluster(ask: AskCluster): Promise<void> {
  for (const { group, version, kind } of KINDS) {
    const plural = `${kind.toLowerCase()}s`;
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await create(ask, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: {
        name: `${plural}.${group}`,
        // Kubernetes asks for it in groups below k8s.io.
        annotations: { 'api-approved.kubernetes.io': 'unapproved, of a test' },
      },
      spec: {
        ...{ group, scope: 'Namespaced', names: { plural, kind } },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    });
  }
  await create(ask, '/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name: 'usual', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'test.example.com/none',
    allowVolumeExpansion: true,
  });
  await create(ask, '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'custom-admin', labels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' } },
    rules: [{ apiGroups: KINDS.map(({ group }) => group), resources: ['*'], verbs: ['*'] }],
  });
}

async function create(ask: AskCluster, path: string, body: object): Promise<void> {
  const { status, text } = await ask('POST', path, body);
  if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`);
}

import { type AskCluster, type KubeObject, readCluster } from './cluster.fixture.ts';

type Deployment = KubeObject<
  {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly image: string; readonly env: readonly object[] }[] };
    };
  },
  { readonly readyReplicas?: number }
>;
type EndpointSlice = KubeObject & { readonly endpoints?: readonly object[] };
type Claim = KubeObject<object, { readonly capacity?: { readonly storage: string } }>;

/** What is in a namespace now. */
export class NamespaceView {
  readonly #ask: AskCluster;
  readonly #namespace: string;

  constructor(ask: AskCluster, namespace: string) {
    this.#ask = ask;
    this.#namespace = namespace;
  }

  deployments(): Promise<readonly Deployment[]> {
    return this.#list('apis/apps/v1', 'deployments');
  }

  pods(): Promise<readonly KubeObject[]> {
    return this.#list('api/v1', 'pods');
  }

  /** The Deployment of the servers of a release that is called like its surface. */
  async servers(release: string): Promise<Deployment | undefined> {
    return (await this.deployments()).find(({ metadata }) => metadata.name === release);
  }

  async isConfigured(release: string, variable: object): Promise<boolean> {
    const [container] = (await this.servers(release))?.spec?.template.spec.containers ?? [];
    return container?.env.some((one) => JSON.stringify(one) === JSON.stringify(variable)) === true;
  }

  async claim(name: string): Promise<Claim | undefined> {
    const claims = await this.#list<Claim>('api/v1', 'persistentvolumeclaims');
    return claims.find(({ metadata }) => metadata.name === name);
  }

  /** How many pods each Service has. */
  async endpoints(): Promise<Record<string, number>> {
    const slices = await this.#list<EndpointSlice>('apis/discovery.k8s.io/v1', 'endpointslices');
    return Object.fromEntries(
      slices.map(({ metadata, endpoints }) => [
        metadata.labels?.['kubernetes.io/service-name'] ?? metadata.name,
        endpoints?.length ?? 0,
      ]),
    );
  }

  /** Everything as `kind/name`, sorted, except what the cluster itself makes of it, and helm's own revisions. */
  names(selector = ''): Promise<string[]> {
    return namesIn(this.#ask, this.#namespace, selector);
  }

  async #list<Listed extends KubeObject>(group: string, kind: string): Promise<readonly Listed[]> {
    const path = `/${group}/namespaces/${this.#namespace}/${kind}`;
    return (await readCluster<{ items: Listed[] }>(this.#ask, path)).items;
  }
}

interface Kinds {
  readonly resources: readonly {
    readonly name: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

async function namesIn(ask: AskCluster, namespace: string, selector = ''): Promise<string[]> {
  const derived = ['pods', 'replicasets', 'controllerrevisions', 'endpoints', 'endpointslices', 'events'];
  const { groups } = await readCluster<{ groups: { preferredVersion: { groupVersion: string } }[] }>(ask, '/apis');
  const versions = ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
  const names = versions.map(async (version) => {
    const { resources } = await readCluster<Kinds>(ask, version);
    const listed = resources.filter(
      ({ name, namespaced, verbs }) => namespaced && verbs.includes('list') && !derived.includes(name),
    );
    const found = listed.map(async ({ name: kind }) => {
      const path = `${version}/namespaces/${namespace}/${kind}?labelSelector=${encodeURIComponent(selector)}`;
      return (await readCluster<{ items: KubeObject[] }>(ask, path)).items.map((one) => `${kind}/${one.metadata.name}`);
    });
    return (await Promise.all(found)).flat();
  });
  return (await Promise.all(names))
    .flat()
    .filter((name) => !name.startsWith('secrets/sh.helm.'))
    .sort();
}

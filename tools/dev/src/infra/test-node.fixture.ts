import { setTimeout as delay } from 'node:timers/promises';
import { type AskCluster, type KubeObject, readCluster } from './cluster.fixture.ts';

interface Source {
  readonly name?: string;
  readonly key?: string;
}

interface PodSpec {
  readonly nodeName?: string;
  readonly restartPolicy?: string;
  readonly containers: readonly {
    readonly name: string;
    readonly image: string;
    readonly env?: readonly {
      readonly valueFrom?: { readonly secretKeyRef?: Source; readonly configMapKeyRef?: Source };
    }[];
  }[];
  readonly volumes?: readonly {
    readonly secret?: { readonly secretName: string };
    readonly configMap?: { readonly name: string };
    readonly persistentVolumeClaim?: { readonly claimName: string };
  }[];
}

interface PodStatus {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

export type Pod = KubeObject<PodSpec, PodStatus>;

type Claim = KubeObject<
  { readonly accessModes: readonly string[]; readonly resources: { readonly requests: { readonly storage: string } } },
  { readonly phase?: string; readonly capacity?: { readonly storage: string } }
>;

const NAME = 'test-node';
const AGAIN_MS = 100;
const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false;

/**
 * What a cluster without machines lacks: a scheduler, a kubelet and a provider of volumes. It runs no container. A pod
 * whose Secrets, ConfigMaps, keys and claims exist becomes ready, or ends at once if it is one that ends; other pods
 * wait, as on a real node.
 */
export class TestNode {
  readonly #ask: AskCluster;
  readonly #verdictOf: (pod: Pod) => Promise<'Succeeded' | 'Failed'>;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();
  #problem: unknown;
  #addresses = 0;

  constructor(ask: AskCluster, verdictOf: (pod: Pod) => Promise<'Succeeded' | 'Failed'>) {
    this.#ask = ask;
    this.#verdictOf = verdictOf;
  }

  async start(): Promise<void> {
    await this.#ask('POST', '/api/v1/nodes', { metadata: { name: NAME } });
    this.#running = this.#run().catch((error: unknown) => void (this.#problem = error));
  }

  /** Rejects with what went wrong while it ran. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    if (this.#problem !== undefined) throw new Error('The test node broke down.', { cause: this.#problem });
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const claims = await readCluster<{ items: Claim[] }>(this.#ask, '/api/v1/persistentvolumeclaims');
      for (const claim of claims.items) await this.#bindClaim(claim);
      const pods = await readCluster<{ items: Pod[] }>(this.#ask, '/api/v1/pods');
      for (const pod of pods.items) await this.#care(pod);
      await delay(AGAIN_MS);
    }
  }

  /** Gives a claim what it asks for, also when it asks for more later. */
  async #bindClaim({ metadata, spec, status }: Claim): Promise<void> {
    if (status?.capacity?.storage === spec?.resources.requests.storage) return;
    const path = `/api/v1/namespaces/${metadata.namespace}/persistentvolumeclaims/${metadata.name}/status`;
    const bound = { phase: 'Bound', accessModes: spec?.accessModes, capacity: spec?.resources.requests };
    await this.#change('PATCH', path, { status: bound });
  }

  async #care(pod: Pod): Promise<void> {
    const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`;
    if (pod.metadata.deletionTimestamp !== undefined) {
      const preconditions = { uid: pod.metadata.uid };
      return this.#change('DELETE', path, { gracePeriodSeconds: 0, preconditions });
    }
    if (isReady(pod) || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return;
    if (pod.spec?.nodeName === undefined)
      return this.#change('POST', `${path}/binding`, {
        metadata: { name: pod.metadata.name },
        target: { kind: 'Node', name: NAME },
      });
    if ((await this.#missingFor(pod)).length > 0) return;
    const status =
      pod.spec.restartPolicy === 'Never' ? ended(pod, await this.#verdictOf(pod)) : this.#runningStatus(pod);
    await this.#change('PATCH', `${path}/status`, { status });
  }

  /** What the pod refers to and is not there. */
  async #missingFor({ metadata, spec }: Pod): Promise<string[]> {
    const missing: string[] = [];
    const need = async (kind: string, name = '', key?: string) => {
      const { status, text } = await this.#ask('GET', `/api/v1/namespaces/${metadata.namespace}/${kind}/${name}`);
      const found = status === 200 ? (JSON.parse(text) as KubeObject) : undefined;
      if (found === undefined || (key !== undefined && found.data?.[key] === undefined))
        missing.push(`${kind}/${name}${key === undefined ? '' : `/${key}`}`);
    };
    for (const { valueFrom } of spec?.containers.flatMap(({ env = [] }) => env) ?? []) {
      if (valueFrom?.secretKeyRef !== undefined)
        await need('secrets', valueFrom.secretKeyRef.name, valueFrom.secretKeyRef.key);
      if (valueFrom?.configMapKeyRef !== undefined)
        await need('configmaps', valueFrom.configMapKeyRef.name, valueFrom.configMapKeyRef.key);
    }
    for (const { secret, configMap, persistentVolumeClaim } of spec?.volumes ?? []) {
      if (secret !== undefined) await need('secrets', secret.secretName);
      if (configMap !== undefined) await need('configmaps', configMap.name);
      if (persistentVolumeClaim !== undefined) await need('persistentvolumeclaims', persistentVolumeClaim.claimName);
    }
    return missing;
  }

  #runningStatus({ spec }: Pod): object {
    this.#addresses += 1;
    const podIP = `10.1.${this.#addresses >> 8}.${this.#addresses & 255}`;
    const now = new Date().toISOString().replace(/\.\d+/, '');
    return {
      ...{ phase: 'Running', podIP, podIPs: [{ ip: podIP }], startTime: now },
      conditions: conditionsOf('True', now),
      containerStatuses: spec?.containers.map(({ name, image }) => ({
        ...{ name, image, imageID: image, ready: true, started: true, restartCount: 0 },
        state: { running: { startedAt: now } },
      })),
    };
  }

  /** A pod that changed or went in the meantime is seen in the next round. */
  async #change(method: string, path: string, body: object): Promise<void> {
    const { status, text } = await this.#ask(method, path, body);
    if (status >= 400 && status !== 404 && status !== 409) throw new Error(`${method} ${path}: ${status} ${text}`);
  }
}

const conditionsOf = (status: 'True' | 'False', lastTransitionTime: string) =>
  ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
    ...{ type, lastTransitionTime },
    status: type === 'PodScheduled' || type === 'Initialized' ? 'True' : status,
  }));

function ended({ spec }: Pod, phase: 'Succeeded' | 'Failed'): object {
  const now = new Date().toISOString().replace(/\.\d+/, '');
  const terminated = { exitCode: phase === 'Succeeded' ? 0 : 1, startedAt: now, finishedAt: now };
  return {
    ...{ phase, startTime: now },
    conditions: conditionsOf('False', now),
    containerStatuses: spec?.containers.map(({ name, image }) => ({
      ...{ name, image, imageID: image, ready: false, started: false, restartCount: 0 },
      state: { terminated },
    })),
  };
}

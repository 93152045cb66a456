import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pod } from './site.ts';

export const NAMESPACE = 'seal';
const PROBE_TIMEOUT_MS = 1_000;
const PROBE_EVERY_MS = 500;

/**
 * Stands in for the kubelet and kube-state-metrics: probes the readiness of each pod, and exposes it as
 * `kube_pod_status_ready`. A process that was killed is a pod that is not ready; a removed pod has no series.
 */
export interface PodStates {
  readonly target: string;
  /** Whether it would get traffic. */
  isReady(pod: Pod): boolean;
  remove(pod: Pod): void;
  add(pod: Pod): void;
  stop(): Promise<void>;
}

export async function watchPods(pods: readonly Pod[]): Promise<PodStates> {
  const ready = new Map(pods.map((pod) => [pod, true]));
  let isStopped = false;
  const probe = async (pod: Pod): Promise<void> => {
    const answer = await pod.process.ops
      .send({ path: '/health/ready', timeoutMs: PROBE_TIMEOUT_MS })
      .catch(() => undefined);
    if (ready.has(pod)) ready.set(pod, answer?.status === 200);
  };
  const probing = (async () => {
    while (!isStopped) {
      await Promise.all([...ready.keys()].map(probe));
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
    }
  })();
  const server = createServer((_request, response) => {
    const lines = [...ready].flatMap(([{ name }, isReady]) =>
      (['true', 'false'] as const).map(
        (condition) =>
          `kube_pod_status_ready{namespace="${NAMESPACE}",pod="${name}",condition="${condition}"} ${Number(isReady === (condition === 'true'))}`,
      ),
    );
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(`${lines.join('\n')}\n`);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  return {
    target: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    isReady: (pod) => ready.get(pod) ?? false,
    remove: (pod) => void ready.delete(pod),
    add: (pod) => void ready.set(pod, true),
    async stop() {
      isStopped = true;
      await probing;
      server.close();
      server.closeAllConnections();
    },
  };
}

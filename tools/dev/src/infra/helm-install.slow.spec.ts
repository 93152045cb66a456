import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { codeBlocksOf } from '../rules/markdown.ts';
import { readProjectFile } from '../rules/project-files.ts';
import { chartSurfaces, migratedSurfaces } from './chart-names.ts';
import { ChartOperator } from './chart-operator.fixture.ts';
import { everything } from './chart-settings.fixture.ts';
import {
  type Cluster,
  clusterPrograms,
  type ClusterPrograms,
  type KubeObject,
  startCluster,
} from './cluster.fixture.ts';
import { furnishCluster } from './furnish-cluster.fixture.ts';
import { flagsOf } from './helm-render.fixture.ts';
import { NamespaceView } from './namespace-view.fixture.ts';
import { type Pod, TestNode } from './test-node.fixture.ts';

const START_WITHIN_MS = 120_000;
const STORY_WITHIN_MS = 180_000;
const SPACE = 'sealgate';

const { programs, missing } = clusterPrograms();

/** What a migration found when its pod ended: the generation of the servers' Deployment, if there was one. */
interface Migration {
  readonly namespace: string;
  readonly release: string;
  readonly job: string;
  readonly servers: number | undefined;
}

const CHECKPOINTS = 'checkpoints-ledger-peer-integrator-0';
const CLAIMS_OF_FEATURES = ['archive-ingest-gateway', 'archive-ledger-peer', 'ledger-peer-monitor'].map(
  (name) => `persistentvolumeclaims/${name}`,
);
const SECRETS_OF_GATEWAY = `
  kubectl create configmap ledger-verifier-keys --from-env-file=verifier-keys.env
  kubectl create secret generic ingest-gateway --from-env-file=run-time.env
  kubectl create secret generic ingest-gateway-migration --from-env-file=migration.env
  kubectl create secret tls ingest-gateway-tls --cert=tls.crt --key=tls.key`;
/** An install that may find a failed one. */
const FAILING_COMMAND =
  'helm upgrade --install ingest-gateway sealgate -f sealgate/values/ingest-gateway.yaml -f yours.yaml --wait';
/** The deadline of the job, in place of its retries, which take more than a minute. */
const FAILS_SOON = '--set migration.deadlineSeconds=10';

const nameOf = ({ metadata }: KubeObject): string => metadata.name;

function story(found: ClusterPrograms): void {
  let cluster: Cluster;
  let node: TestNode;
  let operator: ChartOperator;
  const migrations: Migration[] = [];
  /** Namespaces whose migrations fail. */
  const broken = new Set<string>();
  /** Begins first: Kubernetes waits longer before each of the four tries of a job. */
  let failing: ReturnType<ChartOperator['run']>;

  const view = (namespace = SPACE) => new NamespaceView(cluster.ask, namespace);
  const migrationsOf = (release: string, namespace = SPACE) =>
    migrations.filter((each) => each.release === release && each.namespace === namespace);

  const verdictOf = async ({ metadata }: Pod): Promise<'Succeeded' | 'Failed'> => {
    const { namespace = '', labels = {} } = metadata;
    if (labels['app.kubernetes.io/name']?.endsWith('-migrate') !== true) return 'Succeeded';
    const release = labels['app.kubernetes.io/instance'] ?? '';
    const job = labels['batch.kubernetes.io/controller-uid'] ?? '';
    migrations.push({
      namespace,
      release,
      job,
      servers: (await view(namespace).servers(release))?.metadata.generation,
    });
    return broken.has(namespace) ? 'Failed' : 'Succeeded';
  };
  const succeed = async (script: string, namespace = SPACE): Promise<string> => {
    const { ok, said } = await operator.run(namespace, script);
    if (!ok) throw new Error(`${script.trim()}: ${said}`);
    // Neither the admission of pods nor its warnings about workloads.
    expect(said).not.toContain('PodSecurity');
    return said;
  };
  const upgrade = (surface: string, settings: readonly string[] = []) => {
    const values = `-f infra/helm/values/${surface}.yaml -f ${surface}.yaml`;
    const flags = flagsOf(settings).map((flag) => `'${flag}'`);
    return `helm upgrade ${surface} infra/helm ${values} --wait ${flags.join(' ')}`;
  };
  const forEach = (work: (surface: string) => Promise<unknown>) => Promise.all(chartSurfaces.map(work));
  /** What the claim has got, not what it asks for. */
  const sizeOf = async (claim: string) => (await view().claim(claim))?.status?.capacity?.storage;
  const revisionOf = async (release: string): Promise<number> => {
    const revisions: { revision: number }[] = JSON.parse(await succeed(`helm history ${release} --output json`));
    return revisions.at(-1)?.revision ?? 0;
  };

  beforeAll(async () => {
    cluster = await startCluster(found);
    operator = new ChartOperator(found, cluster);
    node = new TestNode(cluster.ask, verdictOf);
    await node.start();
    await furnishCluster(cluster.ask);
    for (const name of [SPACE, 'page', 'failing']) await operator.createNamespace(name);
    await succeed(SECRETS_OF_GATEWAY, 'failing');
    broken.add('failing');
    failing = operator.run('failing', FAILING_COMMAND);
  }, START_WITHIN_MS);
  afterAll(async () => {
    try {
      await node?.stop();
    } finally {
      operator?.remove();
      await cluster?.stop();
    }
  });

  it(
    'installs all five by the commands of the installation page, from the package alone',
    async () => {
      const blocks = codeBlocksOf(readProjectFile('infra/operations/install-and-size.md'), 'sh');
      const installing = blocks.filter((block) => block.includes('helm install'));
      const said: string[] = [];
      for (const block of installing) said.push(await succeed(block));
      // The last block installs the console, which has no ledger.
      expect(said.map((text) => text.includes('must set integrator.enabled'))).toEqual([true, false]);
      const releases = JSON.parse(await succeed('helm list --output json')) as { name: string; status: string }[];
      expect(releases.map(({ name, status }) => `${name} ${status}`)).toEqual(
        chartSurfaces.map((surface) => `${surface} deployed`),
      );
      for (const surface of migratedSurfaces)
        expect(migrationsOf(surface)).toEqual([expect.objectContaining({ servers: undefined })]);
      expect(await view().deployments()).toHaveLength(chartSurfaces.length);
      // The pod of `helm test` is gone; those of the jobs stay.
      const pods = (await view().pods()).map(nameOf);
      expect(pods.filter((name) => name.endsWith('-test'))).toEqual([]);
      expect(pods.filter((name) => name.includes('-migrate-'))).toHaveLength(migratedSurfaces.length);
    },
    STORY_WITHIN_MS,
  );

  it(
    'installs one by the commands of its own page',
    async () => {
      const [block = ''] = codeBlocksOf(readProjectFile('infra/helm/README.md'), 'sh');
      // There is no registry, and the package is there already.
      await succeed(block.replace(/^helm pull .*\n/, ''), 'page');
      expect(await view('page').servers('ingest-gateway')).toMatchObject({ status: { readyReplicas: 2 } });
    },
    STORY_WITHIN_MS,
  );

  it('sends each Service to the pods that it is for', async () => {
    const expected = Object.fromEntries(
      chartSurfaces.flatMap((name) => [
        [name, 2],
        [`${name}-ops`, 2],
      ]),
    );
    // The integrator is scraped, but serves no requests.
    await until(async () => {
      expect(await view().endpoints()).toEqual({ ...expected, 'ledger-peer-ops': 3 });
      return true;
    });
  });

  it('runs in a namespace that refuses any other pod', async () => {
    const spec = { containers: [{ name: 'plain', image: 'plain' }] };
    const { status, text } = await cluster.ask('POST', `/api/v1/namespaces/${SPACE}/pods`, {
      ...{ metadata: { name: 'plain' }, spec },
    });
    expect({ status, text }).toEqual({ status: 403, text: expect.stringContaining('violates PodSecurity') });
  });

  it(
    'upgrades each after its migration, and rolls it back without one',
    async () => {
      const [up = '', down = ''] = codeBlocksOf(readProjectFile('infra/operations/upgrade-and-downgrade.md'), 'sh');
      const newer = `sha256:${'0e3e'.repeat(16)}`;
      await forEach(async (surface) => {
        const filled = (block: string) => block.replaceAll('<surface>', surface).replace('sha256:...', newer);
        const before = await view().servers(surface);
        await succeed(filled(up));
        expect((await view().servers(surface))?.spec?.template.spec.containers[0]?.image).toBe(
          `sealgate/${surface}@${newer}`,
        );
        const jobs = migrationsOf(surface);
        if (migratedSurfaces.includes(surface)) {
          expect(jobs.map(({ servers: then }) => then)).toEqual([undefined, before?.metadata.generation]);
          expect(new Set(jobs.map(({ job }) => job)).size).toBe(2);
        }
        await succeed(filled(down));
        expect((await view().servers(surface))?.spec?.template).toEqual(before?.spec?.template);
        expect(migrationsOf(surface)).toEqual(jobs);
      });
    },
    STORY_WITHIN_MS,
  );

  it(
    'takes every feature and gives it back, but keeps claims',
    async () => {
      await succeed(`
        kubectl create configmap authority --from-file=ca.crt=tls.crt
        kubectl create secret generic authority --from-file=ca.crt=tls.crt
        kubectl create configmap w --from-literal=witnesses.policy=made-up
        kubectl create secret tls front --cert=tls.crt --key=tls.key`);
      const before = await view().names();
      await forEach((surface) => succeed(upgrade(surface, everything[surface])));
      const added = (await view().names()).filter((name) => !before.includes(name));
      expect(added).toEqual(
        expect.arrayContaining([
          ...['configmaps/ledger-peer-dashboards', 'configmaps/more', 'deployments/ledger-peer-monitor'],
          ...[
            'horizontalpodautoscalers/case-gate',
            'horizontalpodautoscalers/ingest-gateway',
            'httproutes/risk-partner',
          ],
          ...['ingresses/console', 'prometheusrules/ledger-peer-ledger', 'servicemonitors/ledger-peer'],
          ...['services/risk-partner-admin', ...CLAIMS_OF_FEATURES],
        ]),
      );
      // Kubernetes sets one replica when the field goes; the autoscaler then sets its minimum.
      await until(async () => (await view().servers('case-gate'))?.status?.readyReplicas === 2, {
        timeoutMs: 60_000,
        what: 'the minimum of the autoscaler',
      });
      await forEach((surface) => succeed(`helm rollback ${surface} --wait`));
      const after = (await view().names()).filter((name) => !before.includes(name));
      expect(after).toEqual(CLAIMS_OF_FEATURES);
    },
    STORY_WITHIN_MS,
  );

  it(
    'lets a claim grow, and never asks for less than it has',
    async () => {
      const revision = await revisionOf('ledger-peer');
      await succeed(upgrade('ledger-peer', ['integrator.checkpoints.size=20Gi']));
      await until(async () => (await sizeOf(CHECKPOINTS)) === '20Gi');
      const debug = { name: 'LOG_LEVEL', value: 'debug' };
      await succeed(upgrade('ledger-peer', ['integrator.checkpoints.size=10Gi', 'env.LOG_LEVEL=debug']));
      expect(await view().isConfigured('ledger-peer', debug)).toBe(true);
      // A rollback applies the manifests as they were.
      const { ok, said } = await operator.run(SPACE, `helm rollback ledger-peer ${revision} --wait`);
      expect({ ok, said }).toEqual({ ok: false, said: expect.stringContaining('less than status.capacity') });
      expect(await view().isConfigured('ledger-peer', debug)).toBe(false);
      await succeed(upgrade('ledger-peer'));
      expect(await sizeOf(CHECKPOINTS)).toBe('20Gi');
    },
    STORY_WITHIN_MS,
  );

  it(
    'changes nothing if a migration fails, says which job, and goes on once it works',
    async () => {
      const { ok, said } = await failing;
      expect({ ok, said }).toEqual({
        ok: false,
        said: expect.stringContaining('job ingest-gateway-migrate failed: BackoffLimitExceeded'),
      });
      expect(await view('failing').deployments()).toEqual([]);
      broken.delete('failing');
      await succeed(FAILING_COMMAND, 'failing');
      const before = await view('failing').servers('ingest-gateway');
      expect(before).toMatchObject({ status: { readyReplicas: 2 } });
      const pods = async () =>
        (await view('failing').pods())
          .filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'server')
          .map(({ metadata }) => metadata.uid)
          .sort();
      const running = await pods();

      broken.add('failing');
      const again = await operator.run('failing', `${FAILING_COMMAND} ${FAILS_SOON}`);
      expect(again).toEqual({ ok: false, said: expect.stringContaining('job ingest-gateway-migrate failed') });
      const untouched = await view('failing').servers('ingest-gateway');
      expect(untouched?.metadata.generation).toBe(before?.metadata.generation);
      expect(await pods()).toEqual(running);

      broken.delete('failing');
      await succeed(`${FAILING_COMMAND} --set env.LOG_LEVEL=debug`, 'failing');
      expect((await view('failing').servers('ingest-gateway'))?.metadata.generation).toBeGreaterThan(
        untouched?.metadata.generation ?? Infinity,
      );
    },
    STORY_WITHIN_MS,
  );

  it(
    'leaves only jobs, their policies and claims when it is uninstalled, and is installed again on them',
    async () => {
      const claim = (await view().claim(CHECKPOINTS))?.metadata.uid;
      await forEach((surface) => succeed(`helm uninstall ${surface} --wait`));
      const ours = await view().names('app.kubernetes.io/part-of=sealgate');
      const kinds = migratedSurfaces.flatMap((name) => [`jobs/${name}-migrate`, `networkpolicies/${name}-migrate`]);
      expect(ours).toEqual([...CLAIMS_OF_FEATURES, `persistentvolumeclaims/${CHECKPOINTS}`, ...kinds].sort());
      await until(async () => {
        const pods = (await view().pods()).map(nameOf);
        return pods.every((name) => name.includes('-migrate-'));
      });
      expect(await succeed('helm list --all --short')).toBe('');
      await succeed(upgrade('ledger-peer').replace('helm upgrade', 'helm install'));
      expect((await view().claim(CHECKPOINTS))?.metadata.uid).toBe(claim);
      expect(await sizeOf(CHECKPOINTS)).toBe('20Gi');
    },
    STORY_WITHIN_MS,
  );
}

if (programs === undefined) {
  process.stderr.write(
    `SKIPPED: the chart on a real kube-apiserver. Missing on the PATH and in KUBERNETES_BIN: ${missing.join(', ')}.\n`,
  );
  it.skip(`the chart on a real kube-apiserver: missing ${missing.join(', ')}`, () => undefined);
} else describe('the packaged chart on a real kube-apiserver', () => story(programs));

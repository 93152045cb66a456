import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, foldersOf, freePort, guard } from '@sealgate/local-services';
import { until } from '@sealgate/testing';

const NEEDED = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'helm', 'kubectl'] as const;

export type ClusterPrograms = Readonly<Record<(typeof NEEDED)[number], string>>;

/** The programs of a cluster without nodes, on the PATH or in the folder KUBERNETES_BIN; otherwise what is missing. */
export function clusterPrograms(): { readonly programs?: ClusterPrograms; readonly missing: readonly string[] } {
  const folders = [...foldersOf(process.env['KUBERNETES_BIN']), ...foldersOf(process.env['PATH'])];
  const found = NEEDED.map((name) => [name, findProgram(name, folders)] as const);
  const missing = found.filter(([, program]) => program === undefined).map(([name]) => name);
  return missing.length > 0 ? { missing } : { missing, programs: Object.fromEntries(found) as ClusterPrograms };
}

interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}

/** An object of the API, or a list of them. What a caller reads of spec and status it names as `Spec` and `Status`. */
export interface KubeObject<Spec = object, Status = object> {
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: Spec;
  readonly status?: Status;
  readonly data?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** One request as the administrator of the cluster. */
export type AskCluster = (method: string, path: string, body?: object) => Promise<Answer>;

/** @throws Error with the answer unless it has a status of success. */
export async function readCluster<Read>(ask: AskCluster, path: string): Promise<Read> {
  const { status, text } = await ask('GET', path);
  if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`);
  return JSON.parse(text);
}

export interface Cluster {
  readonly ask: AskCluster;
  /** A certificate and its key, as files. */
  readonly certificate: { readonly cert: string; readonly key: string };
  /** The kubeconfig of a user who has no rights but those that are given to the name `installer`. */
  installerConfig(namespace: string): string;
  stop(): Promise<void>;
}

/** etcd, a kube-apiserver with the admission of a usual cluster, and a kube-controller-manager. It has no node. */
export async function startCluster(programs: ClusterPrograms): Promise<Cluster> {
  const cluster = new LocalCluster(programs);
  try {
    await cluster.start();
  } catch (error) {
    const log = cluster.logText();
    await cluster.stop();
    throw new Error(`The cluster did not start:\n${log.slice(-4_000)}`, { cause: error });
  }
  return cluster;
}

const WITHIN_MS = 90_000;
/**
 * No kubelet reports to the cluster and nothing provides volumes: the controllers that would miss them are off, and
 * `TestNode` does their work.
 */
const CONTROLLERS_OFF = [
  ...['node-lifecycle-controller', 'taint-eviction-controller', 'persistentvolume-binder-controller'],
  ...['persistentvolume-attach-detach-controller', 'persistentvolume-expander-controller'],
];

class LocalCluster implements Cluster {
  readonly #programs: ClusterPrograms;
  readonly #folder = mkdtempSync(join(tmpdir(), 'sealgate-cluster-'));
  readonly #tokens = { admin: randomBytes(24).toString('hex'), installer: randomBytes(24).toString('hex') };
  readonly #children: { readonly child: ChildProcess; readonly dismiss: () => void }[] = [];
  readonly #installerConfigs = new Map<string, string>();
  readonly #agent = new Agent({ keepAlive: true });
  #port = 0;

  constructor(programs: ClusterPrograms) {
    this.#programs = programs;
  }

  get certificate() {
    return { cert: this.#path('pki/apiserver.crt'), key: this.#path('pki/apiserver.key') };
  }

  async start(): Promise<void> {
    const etcdUrl = await this.#startEtcd();
    await this.#startApiServer(etcdUrl);
    this.#startControllers();
    // The controllers give it to every namespace, and no pod is admitted without it.
    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    await until(async () => (await this.ask('GET', account)).status === 200, {
      timeoutMs: WITHIN_MS,
      what: 'the default service account',
    });
  }

  readonly ask: AskCluster = (method, path, body) =>
    new Promise((resolve, reject) => {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const sentText = body === undefined ? '' : JSON.stringify(body);
      const sent = request({
        ...{ host: '127.0.0.1', port: this.#port, method, path, agent: this.#agent, timeout: 30_000 },
        ca: readFileSync(this.certificate.cert),
        headers: {
          authorization: `Bearer ${this.#tokens.admin}`,
          'content-type': type,
          // Node leaves it out for DELETE.
          'content-length': Buffer.byteLength(sentText),
        },
      });
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer in 30 seconds`)));
      sent.on('error', reject);
      sent.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
      });
      sent.end(sentText);
    });

  installerConfig(namespace: string): string {
    // Not written again while somebody may read it.
    const file = this.#installerConfigs.get(namespace) ?? this.#configOf('installer', namespace);
    this.#installerConfigs.set(namespace, file);
    return file;
  }

  logText(): string {
    const read = (name: string) => {
      try {
        return readFileSync(this.#path(`${name}.log`), 'utf8').slice(-2_000);
      } catch {
        return '';
      }
    };
    return ['etcd', 'kube-apiserver', 'kube-controller-manager'].map(read).join('\n');
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    for (const { child, dismiss } of this.#children.reverse()) {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGKILL');
        await gone;
      }
      dismiss();
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #startEtcd(): Promise<string> {
    const url = `http://127.0.0.1:${await freePort()}`;
    const peers = `http://127.0.0.1:${await freePort()}`;
    this.#spawn('etcd', [
      ...['--name', 'etcd', '--data-dir', this.#path('etcd'), '--unsafe-no-fsync'],
      ...['--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers, '--initial-cluster', `etcd=${peers}`],
    ]);
    await until(async () => (await fetch(`${url}/health`)).ok, { timeoutMs: WITHIN_MS, what: 'etcd' });
    return url;
  }

  async #startApiServer(etcdUrl: string): Promise<void> {
    this.#port = await freePort();
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    mkdirSync(this.#path('pki'));
    this.#write('accounts.key', privateKey);
    this.#write('accounts.pub', publicKey);
    const { admin, installer } = this.#tokens;
    this.#write('tokens.csv', `${admin},admin,1,"system:masters"\n${installer},installer,2\n`);
    this.#spawn('kube-apiserver', [
      ...[`--etcd-servers=${etcdUrl}`, '--bind-address=127.0.0.1', `--secure-port=${this.#port}`],
      // It writes a certificate there. The address is one of documentation: nothing connects to it.
      ...[`--cert-dir=${this.#path('pki')}`, '--advertise-address=192.0.2.1', '--endpoint-reconciler-type=none'],
      ...[`--token-auth-file=${this.#path('tokens.csv')}`, '--anonymous-auth=false', '--authorization-mode=Node,RBAC'],
      ...['--enable-admission-plugins=NodeRestriction', '--service-cluster-ip-range=10.96.0.0/16'],
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.#path('accounts.pub')}`,
      `--service-account-signing-key-file=${this.#path('accounts.key')}`,
    ]);
    await until(async () => (await this.ask('GET', '/readyz')).status === 200, {
      timeoutMs: WITHIN_MS,
      what: 'kube-apiserver',
    });
  }

  #startControllers(): void {
    this.#spawn('kube-controller-manager', [
      ...[`--kubeconfig=${this.#configOf('admin', 'default')}`, '--leader-elect=false', '--secure-port=0'],
      ...['--use-service-account-credentials', `--root-ca-file=${this.certificate.cert}`],
      `--service-account-private-key-file=${this.#path('accounts.key')}`,
      `--controllers=${['*', ...CONTROLLERS_OFF.map((name) => `-${name}`)].join(',')}`,
    ]);
  }

  #configOf(user: 'admin' | 'installer', namespace: string): string {
    return this.#write(
      `${user}-${namespace}.kubeconfig`,
      JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'only' },
        contexts: [{ name: 'only', context: { cluster: 'only', user, namespace } }],
        users: [{ name: user, user: { token: this.#tokens[user] } }],
        clusters: [
          {
            name: 'only',
            cluster: { server: `https://127.0.0.1:${this.#port}`, 'certificate-authority': this.certificate.cert },
          },
        ],
      }),
    );
  }

  #spawn(name: keyof ClusterPrograms, parameters: readonly string[]): void {
    const log = openSync(this.#path(`${name}.log`), 'a');
    const child = spawn(this.#programs[name], parameters, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    child.on('error', () => undefined); // Seen by whoever waits for it.
    if (child.pid === undefined) throw new Error(`${name} did not start.`);
    this.#children.push({ child, ...guard({ pid: child.pid, mark: this.#folder, folders: [this.#folder] }) });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  #write(name: string, text: string): string {
    writeFileSync(this.#path(name), text, { mode: 0o600 });
    return this.#path(name);
  }
}

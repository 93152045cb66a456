import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { readYaml } from '../rules/project-files.ts';
import { workspaceRoot } from '../workspace.ts';
import { chartSurfaces } from './chart-names.ts';
import type { Cluster, ClusterPrograms } from './cluster.fixture.ts';

interface Ran {
  readonly ok: boolean;
  /** Both streams, as a terminal shows them. */
  readonly said: string;
}

/** Runs commands of a page in a namespace, and stops at the first that fails. */
export type RunScript = (namespace: string, script: string) => Promise<Ran>;

const DIGEST = `sha256:${'5ea1'.repeat(16)}`;

/**
 * Somebody who has the package of the chart, the files that the pages ask for, and the role `admin` in a namespace.
 * Nothing else of the checkout is in the folder.
 */
export class ChartOperator {
  readonly #programs: ClusterPrograms;
  readonly #cluster: Cluster;
  readonly #folder = mkdtempSync(join(tmpdir(), 'sealgate-operator-'));

  constructor(programs: ClusterPrograms, cluster: Cluster) {
    this.#programs = programs;
    this.#cluster = cluster;
    this.#unpackChart();
    this.#write('verifier-keys.env', 'LEDGER_VERIFIER_KEYS=ledger.example.com+00000000+key\n');
    this.#write('log.vkey', 'ledger.example.com+00000000+key\n');
    this.#write('signing-key.env', 'LEDGER_SIGNING_KEY=made-up\n');
    this.#write('mapping.json', '{"mappings":[]}\n');
    this.#write('yours.yaml', `image: { digest: '${DIGEST}' }\n`);
    this.#write('migration.env', 'MIGRATION_DATABASE_URL=made-up\n');
    this.#certificate('tls');
    for (const surface of chartSurfaces) this.#filesOf(surface);
    copyFileSync(join(this.#folder, 'ingest-gateway.env'), join(this.#folder, 'run-time.env'));
  }

  /** A namespace that admits only pods of the level `restricted`, and says of each workload whether its pods would be. */
  async createNamespace(name: string): Promise<void> {
    const labels = Object.fromEntries(
      ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
    );
    await this.#create('/api/v1/namespaces', { metadata: { name, labels } });
    await this.#create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${name}/rolebindings`, {
      metadata: { name: 'installer' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'installer' }],
    });
  }

  readonly run: RunScript = (namespace, script) =>
    new Promise((resolve, reject) => {
      const folders = [this.#programs.helm, this.#programs.kubectl].map((program) => dirname(program));
      const child = spawn('/bin/sh', ['-euc', script], {
        cwd: this.#folder,
        env: {
          PATH: [...folders, process.env['PATH']].join(delimiter),
          HOME: this.#folder,
          KUBECONFIG: this.#cluster.installerConfig(namespace),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const parts: Buffer[] = [];
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => parts.push(part));
      child.on('error', reject);
      child.on('close', (code) => resolve({ ok: code === 0, said: Buffer.concat(parts).toString() }));
    });

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #unpackChart(): void {
    const packed = spawnSync(this.#programs.helm, ['package', join(workspaceRoot, 'infra/helm')], {
      cwd: this.#folder,
      encoding: 'utf8',
    });
    if (packed.status !== 0) throw new Error(packed.stderr);
    const unpacked = spawnSync('/bin/sh', ['-c', 'tar xzf sealgate-*.tgz'], { cwd: this.#folder, encoding: 'utf8' });
    if (unpacked.status !== 0) throw new Error(unpacked.stderr);
    // As the pages call it that assume a checkout.
    mkdirSync(join(this.#folder, 'infra'));
    symlinkSync('../sealgate', join(this.#folder, 'infra/helm'));
  }

  #filesOf(surface: string): void {
    const values = readYaml(`infra/helm/values/${surface}.yaml`) as { secrets: object };
    const variables = Object.keys(values.secrets).map((name) => `${name}=made-up\n`);
    this.#write(`${surface}.env`, variables.join(''));
    this.#write(`${surface}-migration.env`, 'MIGRATION_DATABASE_URL=made-up\n');
    this.#write(`${surface}.yaml`, `image: { digest: '${DIGEST}' }\n`);
    this.#certificate(surface);
  }

  #certificate(name: string): void {
    const { cert, key } = this.#cluster.certificate;
    copyFileSync(cert, join(this.#folder, `${name}.crt`));
    copyFileSync(key, join(this.#folder, `${name}.key`));
  }

  #write(name: string, text: string): void {
    writeFileSync(join(this.#folder, name), text);
  }

  async #create(path: string, body: object): Promise<void> {
    const { status, text } = await this.#cluster.ask('POST', path, body);
    if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`);
  }
}

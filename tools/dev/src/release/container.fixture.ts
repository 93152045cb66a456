import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { readProjectFile } from '../rules/project-files.ts';

/** The start command of docker/Dockerfile. */
interface ImageConfig {
  readonly user: number;
  readonly workingFolder: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
}

export function imageConfigOf(dockerfile: string): ImageConfig {
  const last = (name: string): string => [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].at(-1)?.[1] ?? '';
  return {
    user: Number(last('USER').split(':')[0]),
    workingFolder: last('WORKDIR'),
    entrypoint: JSON.parse(last('ENTRYPOINT')),
    command: JSON.parse(last('CMD')),
  };
}

/**
 * Why a container cannot be simulated on this machine: a chroot with only the tree, read-only, PID 1 in its namespace,
 * no capabilities. Undefined if it can.
 */
export function whyNoContainers(): string | undefined {
  if (process.platform !== 'linux') return 'namespaces need Linux';
  if (process.getuid?.() !== 0) return 'mounting a tree read-only for another user needs root';
  const tried = spawnSync('unshare', ['--mount', '--pid', '--fork', 'setpriv', '--reuid', '1', 'true']);
  return tried.status === 0 ? undefined : 'unshare or setpriv of util-linux is missing, or not allowed';
}

/** Runs a program in the tree, with the C library, Node and resolver files of this machine. */
const SCRIPT = `set -e
root=$1 tree=$2 node=$3 user=$4 folder=$5; shift 5
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=1m tmpfs "$root"
bind() { mkdir -p "$root$2"; mount --bind "$1" "$root$2"; mount -o "remount,bind,$3" "$root$2"; }
for name in usr lib lib64 bin etc; do
  if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
  elif [ -d "/$name" ]; then bind "/$name" "/$name" ro; fi
done
bind "$node" /opt/node ro,nosuid
bind "$tree/app" /app ro,nosuid
while [ "$1" != -- ]; do bind "$1" "$2" "$3,nosuid"; shift 3; done; shift
mkdir -p "$root/proc" "$root/dev" "$root/tmp"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -o remount,ro,nosuid "$root"
exec chroot "$root" /usr/bin/env -i -C "$folder" "PATH=/opt/node:/usr/bin" NODE_ENV=production "$@"
`;

export interface Mount {
  readonly from: string;
  readonly at: string;
  readonly mode: 'ro' | 'rw';
}

export interface Container {
  /** Its pid on this machine. In the container it is 1. */
  pid(): number;
  said(): string;
  /** Its exit code; 128 plus the signal number if it was killed. */
  readonly ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts it. Await `ended`, or temporary folders are left. */
export function startContainer({
  tree,
  image,
  command,
  env = {},
  mounts = [],
}: {
  /** The tree of an image without its base. */
  readonly tree: string;
  readonly image: ImageConfig;
  /** Replaces the image's command. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
}): Container {
  const root = mkdtempSync(join(tmpdir(), 'sealgate-container-'));
  const script = join(root, 'start.sh');
  const at = join(root, 'root');
  mkdirSync(at);
  writeFileSync(script, SCRIPT);
  const { user, workingFolder, entrypoint } = image;
  const identity = `--reuid=${user} --regid=${user} --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs`;
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--kill-child=SIGKILL', 'sh', script, at, tree],
      ...[resolve(dirname(process.execPath)), String(user), workingFolder],
      ...mounts.flatMap((mount) => [mount.from, mount.at, mount.mode]),
      '--',
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      ...['setpriv', ...identity.split(' '), ...entrypoint, ...(command ?? image.command)],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<number | null>((done) => child.once('close', (code) => done(code))).finally(() =>
    rmSync(root, { recursive: true, force: true }),
  );
  // The only child of unshare; it becomes Node by exec.
  const pid = () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());
  return { pid, said: () => said, ended, kill: (signal) => process.kill(pid(), signal) };
}

/** Resource usage of a process since its start. The kernel counts CPU time in hundredths of a second. */
export function usageOf(pid: number): { readonly cpuMs: number; readonly mebibytes: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [utime = 0, stime = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { cpuMs: (utime + stime) * 10, mebibytes: Math.round(Number(kibibytes) / 1024) };
}

/** A CA and its certificate for 127.0.0.1: `ca.crt`, `served.crt` and `served.key` in the folder. */
export function makeCertificates(folder: string): void {
  const openssl = (...parameters: string[]) => {
    const { status, stderr } = spawnSync('openssl', parameters, { cwd: folder, encoding: 'utf8', timeout: 30_000 });
    if (status !== 0) throw new Error(`openssl ${parameters[0]} failed: ${stderr}`);
  };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...key, '-days', '2', '-subj', '/CN=authority', '-keyout', 'ca.key', '-out', 'ca.crt');
  openssl('req', ...key, '-subj', '/CN=served', '-keyout', 'served.key', '-out', 'served.csr');
  writeFileSync(join(folder, 'names'), 'subjectAltName=IP:127.0.0.1\n');
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names'];
  openssl('x509', '-req', '-in', 'served.csr', ...signed, '-out', 'served.crt');
}

/** Copies a file so that only another user can read it. */
export function lend(from: string, to: string, user: number): void {
  copyFileSync(from, to);
  chownSync(to, user, user);
  chmodSync(to, 0o600);
}

/** The response of a TLS server with a certificate of this CA. */
export const bodyOf = (url: string, ca: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { ca, agent: false }, (response) => {
      text(response).then(resolve, reject);
    });
    asked.on('error', reject).end();
  });

interface Locked {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
}

const { packages } = JSON.parse(readProjectFile('package-lock.json')) as { packages: Readonly<Record<string, Locked>> };
/** `node_modules/a/node_modules/@b/c` is a copy of @b/c. An alias has its own name. */
const nameAt = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
const digests = new Map(
  Object.entries(packages).map(([path, { name, version, integrity }]) => [
    `${name ?? nameAt(path)}@${version}`,
    integrity,
  ]),
);

/** The digest of a package in the lock file, in CycloneDX format. Undefined if it is not there. */
export function bundledLock(name: string, version: string): object[] | undefined {
  const integrity = digests.get(`${name}@${version}`);
  if (integrity === undefined) return undefined;
  const [, encoded = ''] = /^sha512-(.+)$/.exec(integrity) ?? [];
  return [{ alg: 'SHA-512', content: Buffer.from(encoded, 'base64').toString('hex') }];
}

/** Size limits of image trees in MiB: about a tenth above their size. Without the base image. */
export const BUDGET_MIB: Readonly<Record<string, number>> = {
  'case-gate': 17,
  console: 7.7, // With the Redis client (ended sessions are shared by the replicas) and Verify's X.509 library, twice: a chunk, and in verify.html.
  'ingest-gateway': 17,
  'ledger-chaincode': 5,
  'ledger-peer': 11,
  'risk-partner': 18,
  verify: 1.7, // With the X.509 library that checks proofs of Fabric.
};

/** CPU time of a process from its start until it is ready: 1.6 s were seen on a slow core. */
export const READY_CPU_MS = 4500;
/** Memory of an idle process. */
export const IDLE_MIB = 135;

import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  chmodSync,
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

/** What docker/Dockerfile says of how a container of ours starts. */
export interface ImageConfig {
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
 * Why nothing can be started here as a container engine starts it: a tree with nothing else beside it, read-only, process 1 of
 * its own numbering, no capability. Undefined where it can.
 */
export function whyNoContainers(): string | undefined {
  if (process.platform !== 'linux') return 'namespaces are of Linux';
  if (process.getuid?.() !== 0) return 'it takes root to mount a tree read-only for another user';
  const tried = spawnSync('unshare', ['--mount', '--pid', '--fork', 'setpriv', '--reuid', '1', 'true']);
  return tried.status === 0 ? undefined : 'unshare or setpriv of util-linux is missing, or not allowed';
}

/** Runs a program in the tree: what the machine lends are its C library, its Node and its names of hosts. */
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

export interface ContainerOptions {
  /** What an image holds beside its base. */
  readonly tree: string;
  readonly image: ImageConfig;
  /** In place of the image's own command. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
}

export interface Container {
  /** As this machine counts it. In the container it is 1. */
  pid(): number;
  said(): string;
  /** Its exit code, as a shell counts it. */
  readonly ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts it. Who does not wait for `ended` leaves folders behind. */
export function startContainer({ tree, image, command, env = {}, mounts = [] }: ContainerOptions): Container {
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
  // The first and only child of unshare; it becomes Node without a new process between.
  const pid = () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());
  return { pid, said: () => said, ended, kill: (signal) => process.kill(pid(), signal) };
}

/** What a process has used since its start. The kernel counts processor time in hundredths of a second. */
export function usageOf(pid: number): { readonly cpuMs: number; readonly mebibytes: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [utime = 0, stime = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { cpuMs: (utime + stime) * 10, mebibytes: Math.round(Number(kibibytes) / 1024) };
}

/** A certificate authority and a certificate of it for 127.0.0.1: `ca.crt`, `served.crt` and `served.key` in the folder. */
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

/** Copies a file to where another user alone may read it. */
export function lend(from: string, to: string, user: number): void {
  copyFileSync(from, to);
  chownSync(to, user, user);
  chmodSync(to, 0o600);
}

/** What is answered over TLS, by a server that shows a certificate of this authority. */
export const bodyOf = (url: string, ca: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { ca, agent: false }, (response) => {
      text(response).then(resolve, reject);
    });
    asked.on('error', reject).end();
  });

import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bytes } from '@sealgate/json';
import type { Command } from 'commander';
import { followLog, LOG_PROBLEMS, LogProblem, type SeenLog } from './monitor-log.ts';
import { metricsText, serveMetrics, type WatchedLog } from './monitor-metrics.ts';
import { pinnedKey, readPolicy, type KeyOptions } from './pinned-key.ts';
import { pathIn, readBytesIfThere, readText, writeWhole } from './read-file.ts';
import { type CommandHost, type ExitCode, withKeyOptions } from './run-check.ts';
import { UnreadableError } from './shape.ts';

interface MonitorOptions extends KeyOptions {
  readonly state: string;
  readonly json?: boolean;
  readonly bearerFile?: string;
  readonly every?: string;
  readonly metricsTextfile?: string;
  readonly metricsPort?: string;
  readonly metricsHost: string;
}

/** State of one log: stored in the state file, and exported as metrics. */
interface Watched extends WatchedLog {
  readonly url: string;
  seen?: SeenLog | undefined;
}

const READ_WITHIN_MS = 30_000;
/** A full bundle of the longest entries has slightly more than 16 MiB. */
const READ_MAX_BYTES = 17 * 1024 * 1024;

/** Name of a channel, or of one of its epochs. */
const LOG_NAME = /^[a-z0-9-]+\.[a-z0-9-]+(\/e\d+)?$/;

const HELP = `
URL is a log of a ledger peer (https://peer.example/ledger/acme.main), or a copy of one with its checkpoint, tiles and entry
bundles, at any address. If that does not end with the name of the log, the name is that of its first checkpoint. The state file has the newest verified checkpoint of each log: keep it, so that later rounds detect rollbacks and
forks. Without --every it runs one round and exits, for a CronJob.

Exit codes: 0 no problem, 2 wrong use or unreachable, ${Object.entries(LOG_PROBLEMS)
  .map(([kind, code]) => `${code} ${kind}`)
  .join(', ')}. The checkpoints that prove a problem are printed: save them.

With --every, SIGTERM and SIGINT stop it at once; the state file has the progress so far, the exit code is that of the last round.
A state or metrics file that cannot be written is named, gives exit code 2 unless a problem was found, and is written again
by the next round.

  sealgate-verify monitor https://peer.example/ledger/acme.main --key log.vkey --state seen.json
  sealgate-verify monitor https://peer.example/ledger/acme.main --key log.vkey --state seen.json --every 60 --metrics-port 9464`;

/** Adds `monitor`, the only command that opens connections and writes files. */
export function addMonitorCommand(program: Command, host: CommandHost): void {
  withKeyOptions(program.command('monitor'))
    .description('follow logs over HTTP: check that they only grow, and that new entries match their checkpoints')
    .argument('<url...>', 'the logs')
    .requiredOption('--state <file>', 'the state of each log; rewritten after each round')
    .option('--bearer-file <file>', 'a file with the key of the ledger peer, sent as Authorization: Bearer')
    .option('--every <seconds>', 'repeat after this many seconds')
    .option('--metrics-textfile <file>', 'metrics for the textfile collector of a Prometheus node exporter')
    .option('--metrics-port <port>', 'serve metrics at /metrics of this port; with --every')
    .option('--metrics-host <address>', 'the address to serve them on', '127.0.0.1')
    .addHelpText('after', HELP)
    .action(async (urls: string[], options: MonitorOptions) => {
      try {
        await monitor(host, urls, options);
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error;
        host.err(`sealgate-verify monitor: ${error.message}\n`);
        host.exit(2);
      }
    });
}

async function monitor(host: CommandHost, urls: readonly string[], options: MonitorOptions): Promise<void> {
  const at = (path: string) => pathIn(host.directory, path);
  // Missing cosignatures are a separate finding, besides the log key's signature.
  const { policy: policyFile, json = false, ...pins } = options;
  const { verifier } = await pinnedKey(pins, host);
  const policy = policyFile === undefined ? undefined : await readPolicy(at(policyFile));
  const bearer = await bearerIn(options.bearerFile, at);
  const everyMs = options.every === undefined ? undefined : wholeNumber('--every', options.every) * 1000;
  const watched = await readState(at(options.state), urls);
  const endMetrics = await servedMetrics(options, watched);
  const stop = everyMs === undefined ? undefined : host.stopSignal?.();
  const isStopped = () => stop?.aborted === true;
  const lookAtAll = async (): Promise<ExitCode> => {
    let code: ExitCode = 0;
    for (const one of watched) {
      const read = (path: string) => {
        stop?.throwIfAborted();
        return readUrl(`${one.url}/${path}`, { bearer, stop });
      };
      const found = await look(json ? asJson(host, one) : host, one, { verifier, policy, read, isStopped });
      code = code === 0 || (code === 2 && found !== 0) ? found : code;
    }
    return code;
  };
  /** A file that cannot be written ends no watch: the next round writes it again. */
  const keep = async (file: string, text: string): Promise<boolean> => {
    try {
      await writeWhole(at(file), text);
      return true;
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      host.err(`sealgate-verify monitor: ${error.message}\n`);
      return false;
    }
  };
  try {
    for (;;) {
      const found = await lookAtAll();
      const isKept = await keep(options.state, stateText(watched));
      // An interrupted round has no result: the code of the previous one stays.
      if (isStopped()) return;
      const isShown =
        options.metricsTextfile === undefined || (await keep(options.metricsTextfile, metricsText(watched)));
      // What was found about a log matters more than a file.
      host.exit(found === 0 && !(isKept && isShown) ? 2 : found);
      if (everyMs === undefined) return;
      await pause(everyMs, stop);
      if (isStopped()) return;
    }
  } finally {
    endMetrics?.();
  }
}

async function bearerIn(file: string | undefined, at: (path: string) => string): Promise<string | undefined> {
  return file === undefined ? undefined : (await readText(at(file))).trim();
}

/** Serves metrics if there is a port for them. Returns what ends it. */
async function servedMetrics(
  { metricsPort, metricsHost }: MonitorOptions,
  watched: readonly Watched[],
): Promise<(() => void) | undefined> {
  return metricsPort === undefined ? undefined : serveMetrics(metricsPlace(metricsPort, metricsHost), watched);
}

/** Ends early when stopped. */
async function pause(everyMs: number, stop: AbortSignal | undefined): Promise<void> {
  try {
    await delay(everyMs, undefined, stop === undefined ? {} : { signal: stop });
  } catch (error) {
    if (stop?.aborted !== true) throw error;
  }
}

/** A line of JSON for each round. */
function asJson(host: CommandHost, one: Watched): CommandHost {
  const line = (text: string) => {
    const { url, log, size, problem = null } = one;
    host.out(`${JSON.stringify({ command: 'monitor', url, log, size, problem, text })}\n`);
  };
  return { ...host, out: line, err: line };
}

async function look(
  host: CommandHost,
  one: Watched,
  {
    isStopped,
    ...by
  }: Pick<Parameters<typeof followLog>[0], 'verifier' | 'policy' | 'read'> & { readonly isStopped: () => boolean },
): Promise<ExitCode> {
  try {
    const { seen, size, checked, short, log } = await followLog({ ...by, log: one.log, seen: one.seen });
    Object.assign(one, { log, seen, size, checked: one.checked + checked, checkedAtSeconds: Date.now() / 1000 });
    one.problem = short?.kind;
    if (short === undefined) host.out(`ok      ${one.url}: ${size} entries, ${checked} of them new.\n`);
    else tell(host, one, short);
    return short === undefined ? 0 : LOG_PROBLEMS[short.kind];
  } catch (error) {
    // An interrupted round says nothing about the log.
    if (isStopped()) return 0;
    if (error instanceof LogProblem) {
      one.problem = error.kind;
      tell(host, one, error);
      return LOG_PROBLEMS[error.kind];
    }
    if (!(error instanceof UnreadableError)) throw error;
    one.problem = 'unreachable';
    host.err(`sealgate-verify monitor: ${one.url}: ${error.message}\n`);
    return 2;
  }
}

function tell(host: CommandHost, { url }: Watched, { kind, message, notes }: LogProblem): void {
  host.out(`FAILED  ${url}: ${kind}: ${message}\n${notes.map((note) => `\n${note}`).join('')}`);
}

/** Limited in time and size; redirects are not followed. Undefined for 404. */
async function readUrl(
  url: string,
  { bearer, stop }: { readonly bearer: string | undefined; readonly stop: AbortSignal | undefined },
): Promise<Bytes | undefined> {
  const within = AbortSignal.timeout(READ_WITHIN_MS);
  try {
    const response = await fetch(url, {
      // By default Node accepts Brotli over TLS only; it costs the log a third of gzip's time.
      headers: {
        'Accept-Encoding': 'br, gzip',
        ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
      },
      redirect: 'manual',
      signal: stop === undefined ? within : AbortSignal.any([within, stop]),
    });
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > READ_MAX_BYTES) throw new UnreadableError(`${url} answered more than ${READ_MAX_BYTES} bytes.`);
      chunks.push(chunk);
    }
    if (response.status !== 200) throw new UnreadableError(`${url} answered ${response.status}.`);
    return Buffer.concat(chunks);
  } catch (cause) {
    if (cause instanceof UnreadableError || !(cause instanceof Error)) throw cause;
    const reason = cause.cause instanceof Error ? cause.cause.message : cause.message;
    throw new UnreadableError(`${url} cannot be read: ${reason}.`, { cause });
  }
}

async function readState(path: string, urls: readonly string[]): Promise<Watched[]> {
  const bytes = await readBytesIfThere(path);
  const known = bytes === undefined ? {} : stateIn(bytes.toString('utf8'), path);
  return urls.map((given) => {
    const url = given.replace(/\/+$/, '');
    if (!isPlainUrl(url)) throw new UnreadableError(`${given} is no URL of a log.`);
    return { url, log: nameIn(url), seen: known[url], size: 0, checked: 0, checkedAtSeconds: 0, problem: undefined };
  });
}

/** Paths of files are appended to it. */
function isPlainUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, search, hash, pathname } = new URL(url);
  return /^https?:$/.test(protocol) && search === '' && hash === '' && !/["\\\s]|%22/.test(url + pathname);
}

/** The name of the log at the end of its URL. Empty for a mirror whose path has no name: its checkpoint tells it. */
function nameIn(url: string): string {
  const segments = new URL(url).pathname.split('/').filter((segment) => segment !== '');
  const ends = [segments.slice(-2).join('/'), segments.at(-1) ?? ''];
  return ends.find((end, index) => LOG_NAME.test(end) && (index === 1 || end.includes('/e'))) ?? '';
}

function stateIn(text: string, path: string): Record<string, SeenLog> {
  try {
    const { v, logs } = JSON.parse(text) as { v?: unknown; logs?: unknown };
    if (v === 1 && typeof logs === 'object' && logs !== null) return logs as Record<string, SeenLog>;
  } catch {
    // Reported below: an unreadable state must not be treated as a missing one.
  }
  throw new UnreadableError(`${path} is no state of a monitor.`);
}

function stateText(watched: readonly Watched[]): string {
  const logs = Object.fromEntries(watched.flatMap(({ url, seen }) => (seen === undefined ? [] : [[url, seen]])));
  return `${JSON.stringify({ v: 1, logs }, null, 2)}\n`;
}

function metricsPlace(portText: string, address: string): { port: number; address: string } {
  const port = wholeNumber('--metrics-port', portText);
  if (port > 65_535) throw new UnreadableError('--metrics-port is at most 65535.');
  if (isIP(address) === 0) throw new UnreadableError('--metrics-host takes an IP address, such as 0.0.0.0.');
  return { port, address };
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (/^[1-9]\d{0,8}$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new UnreadableError(`${option} takes a whole number from 1 on.`);
}

import { setTimeout as delay } from 'node:timers/promises';
import { isLoopback } from '@sealgate/auth';
import { buildInfo, type Log } from '@sealgate/observability';
import { followTlsFiles, listen, type Listener, readTlsFiles, type ServedApp, type TlsMaterial } from './listener.ts';
import { StartError } from './load-config.ts';

/** Health of a part of a service, for the ops listener. */
export interface ServiceHealth {
  readonly ok: boolean;
  readonly body?: object;
}

type HealthCheck = () => ServiceHealth | Promise<ServiceHealth>;

/** The settings from `listenerFields` that the host uses. */
export interface HostConfig {
  readonly host: string;
  readonly port: number;
  readonly opsHost: string;
  readonly opsPort: number;
  readonly adminHost: string;
  readonly adminPort: number | undefined;
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  readonly tlsTerminatedUpstream: boolean;
  readonly drainDelayMs: number;
  readonly drainTimeoutMs: number;
}

/** The apps and checks of a service whose resources are open. */
export interface Composition {
  readonly publicApp: ServedApp;
  /** Opened only if ADMIN_PORT is set. */
  readonly adminApp?: ServedApp;
  /** Further public listeners on the same address: `portVariable` is the variable of their port. */
  readonly further?: readonly { readonly app: ServedApp; readonly port: number; readonly portVariable: string }[];
  /** Readiness check, called only while running; must have its own deadline. */
  readonly ready: HealthCheck;
  /** Startup check; absent: started once composed. */
  readonly startup?: HealthCheck;
}

/** Checks that include the state of the host: starting or draining. */
export interface HostChecks {
  readonly ready: HealthCheck;
  readonly startup: HealthCheck;
}

export interface ServiceOptions {
  readonly name: string;
  readonly config: HostConfig;
  readonly log: Log;
  /** Creates the app of the ops listener from the host's checks: `opsApp` of the http library with metrics added. */
  readonly opsApp: (checks: HostChecks) => ServedApp;
  /**
   * Opens all resources; each registers its release through `own`. If it throws, registered resources are released.
   * `checks` are for surfaces that serve health routes on their public listener too.
   */
  readonly compose: (own: Own, checks: HostChecks) => Promise<Composition>;
  /** Timeout of each release. */
  readonly releaseTimeoutMs?: number;
  /** Poll interval of the TLS files. */
  readonly tlsPollMs?: number;
}

/** A running service. */
export interface RunningService {
  readonly publicUrl: string;
  readonly opsUrl: string;
  readonly adminUrl: string | undefined;
  /** Becomes not ready, drains, closes HTTP, releases in reverse. Never rejects. Idempotent. */
  stop(): Promise<void>;
}

const RELEASE_TIMEOUT_MS = 5_000;
const TLS_POLL_MS = 5_000;

/**
 * Starts a service: first the ops listener, so that probes are answered during the start, then the resources opened by
 * `compose`, then the public and admin listeners.
 * @throws StartError if the operator can fix it, else the error of `compose`. Nothing stays open.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const host = new Host(options);
  try {
    return await host.start();
  } catch (error) {
    await host.stop();
    throw error;
  }
}

type Phase = 'starting' | 'running' | 'draining';

class Host {
  readonly #options: ServiceOptions;
  readonly #owner: Owner;
  readonly #traffic: Listener[] = [];
  #ops: Listener | undefined;
  #composition: Composition | undefined;
  #phase: Phase = 'starting';
  #stopped: Promise<void> | undefined;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#owner = new Owner(options.log, options.releaseTimeoutMs ?? RELEASE_TIMEOUT_MS);
  }

  async start(): Promise<RunningService> {
    const { config, log, compose, name } = this.#options;
    const { version, commit } = buildInfo;
    log.info('service_starting', { name, version, commit });
    const tls = await tlsFor(config);
    const checks: HostChecks = { ready: () => this.#ready(), startup: () => this.#startup() };
    this.#ops = await this.#listenForOps(checks);
    this.#composition = await compose(this.#owner.own, checks);
    const open = await this.#openTraffic(this.#composition, tls);
    this.#phase = 'running';
    const addresses = { publicUrl: open.publicUrl, opsUrl: this.#ops.url, adminUrl: open.adminUrl };
    log.info('service_started', { name, ...addresses });
    return { ...addresses, stop: () => this.stop() };
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  #listenForOps(checks: HostChecks): Promise<Listener> {
    const { opsHost: host, opsPort: port } = this.#options.config;
    return listen({ app: this.#options.opsApp(checks), host, port, portVariable: 'OPS_PORT' });
  }

  async #openTraffic({ publicApp, adminApp, further = [] }: Composition, tls: TlsMaterial | undefined) {
    const { config } = this.#options;
    const { host, port, adminHost, adminPort } = config;
    const open = async (options: Parameters<typeof listen>[0]) => {
      const listener = await listen(options);
      this.#traffic.push(listener);
      this.#followTls(listener, options.tls);
      return listener.url;
    };
    const publicUrl = await open({ app: publicApp, host, port, portVariable: 'PORT', tls });
    for (const listener of further) await open({ ...listener, host, tls });
    if (adminPort === undefined || adminApp === undefined) return { publicUrl, adminUrl: undefined };
    // No TLS on loopback: there is no network to protect and no name for a certificate.
    const adminTls = isLoopback(adminHost) ? undefined : tls;
    const admin = { app: adminApp, host: adminHost, port: adminPort, portVariable: 'ADMIN_PORT', tls: adminTls };
    return { publicUrl, adminUrl: await open(admin) };
  }

  #followTls(listener: Listener, current: TlsMaterial | undefined): void {
    const { config, log, tlsPollMs = TLS_POLL_MS } = this.#options;
    const files = tlsFilesOf(config);
    const { server } = listener;
    if (current === undefined || files === undefined) return;
    const secure = { setSecureContext: (material: TlsMaterial) => server.setSecureContext?.(material) };
    this.#owner.own('tls files', followTlsFiles(files, { server: secure, current, pollMs: tlsPollMs, log }));
  }

  async #stop(): Promise<void> {
    const { config, log, name } = this.#options;
    const wasRunning = this.#phase === 'running';
    this.#phase = 'draining';
    if (wasRunning) {
      log.info('service_stopping', { name });
      for (const listener of this.#traffic) listener.drain();
      await delay(config.drainDelayMs);
    }
    await Promise.all(this.#traffic.map((listener) => listener.close(config.drainTimeoutMs)));
    await this.#ops?.close(0);
    await this.#owner.releaseAll();
    if (wasRunning) log.info('service_stopped', { name });
  }

  #ready(): ServiceHealth | Promise<ServiceHealth> {
    if (this.#phase !== 'running' || this.#composition === undefined) return unavailable(this.#phase);
    return this.#composition.ready();
  }

  #startup(): ServiceHealth | Promise<ServiceHealth> {
    if (this.#phase === 'starting' || this.#composition === undefined) return unavailable('starting');
    return this.#composition.startup?.() ?? { ok: true };
  }
}

function unavailable(phase: Phase): ServiceHealth {
  return { ok: false, body: { status: phase } };
}

/**
 * The TLS certificate and key of the listeners; undefined without TLS.
 * @throws StartError if TLS is required but not configured, or its files are not usable.
 */
export async function tlsFor(config: HostConfig): Promise<TlsMaterial | undefined> {
  requireTls(config);
  const files = tlsFilesOf(config);
  return files === undefined ? undefined : readTlsFiles(files);
}

function requireTls(config: HostConfig): void {
  const { host, adminHost, adminPort, tlsTerminatedUpstream } = config;
  if (tlsFilesOf(config) !== undefined || tlsTerminatedUpstream) return;
  const exposed = !isLoopback(host)
    ? 'HOST'
    : adminPort !== undefined && !isLoopback(adminHost)
      ? 'ADMIN_HOST'
      : undefined;
  if (exposed === undefined) return;
  throw new StartError(
    `${exposed} can be reached from other machines: set TLS_CERT_FILE and TLS_KEY_FILE, or TLS_TERMINATED_UPSTREAM=true behind a proxy that terminates TLS.`,
  );
}

function tlsFilesOf({ tlsCertFile, tlsKeyFile }: HostConfig) {
  return tlsCertFile === undefined || tlsKeyFile === undefined
    ? undefined
    : { certFile: tlsCertFile, keyFile: tlsKeyFile };
}

/** Registers a release function, called when the service stops. Call it right where the resource is opened. */
export type Own = (name: string, release: () => void | Promise<void>) => void;

interface Owned {
  readonly name: string;
  readonly release: () => void | Promise<void>;
}

/** Releases the resources of a service in reverse order, even if some releases fail. */
class Owner {
  readonly #owned: Owned[] = [];
  readonly #log: Log;
  readonly #timeoutMs: number;

  /** @param timeoutMs timeout of each release. */
  constructor(log: Log, timeoutMs: number) {
    this.#log = log;
    this.#timeoutMs = timeoutMs;
  }

  readonly own: Own = (name, release) => {
    this.#owned.push({ name, release });
  };

  /** Never rejects. Idempotent. */
  async releaseAll(): Promise<void> {
    for (let owned = this.#owned.pop(); owned !== undefined; owned = this.#owned.pop()) await this.#release(owned);
  }

  async #release({ name, release }: Owned): Promise<void> {
    const failure = await withTimeout(release, this.#timeoutMs);
    if (failure !== undefined) this.#log.error('release_failed', { name, reason: failure });
  }
}

/** @returns the failure, or undefined. */
async function withTimeout(work: () => void | Promise<void>, timeoutMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`took longer than ${timeoutMs} ms`), timeoutMs);
  });
  const done = (async () => {
    await work();
    return undefined;
  })();
  try {
    return await Promise.race([done, timedOut]);
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : 'the thrown value is not an Error';
  } finally {
    clearTimeout(timer);
  }
}

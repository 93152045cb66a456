import { setTimeout as delay } from 'node:timers/promises';
import { isLoopback } from '@sealgate/auth';
import { buildInfo, type Log } from '@sealgate/observability';
import { listen, type Listener, type ServedApp } from './listener.ts';
import { Owner, type Own } from './owner.ts';
import { StartError } from './start-error.ts';
import { followTlsFiles, readTlsFiles, type TlsMaterial } from './tls-files.ts';

/** How a part of a service is, as the ops listener answers it. */
export interface ServiceHealth {
  readonly ok: boolean;
  readonly body?: object;
}

export type HealthCheck = () => ServiceHealth | Promise<ServiceHealth>;

/** What `listenerFields` makes of the environment, as far as the host looks at it. */
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

/** What a service is made of once everything it needs is open. */
export interface Composition {
  readonly publicApp: ServedApp;
  /** Opened only where ADMIN_PORT is set. */
  readonly adminApp?: ServedApp;
  /** Public listeners besides, at the same address: `portVariable` is what an operator sets to move one. */
  readonly further?: readonly { readonly app: ServedApp; readonly port: number; readonly portVariable: string }[];
  /** Whether it may be given traffic. Asked only while it runs; must end within its own deadline. */
  readonly ready: HealthCheck;
  /** Whether it has finished starting; absent, it has once it is composed. */
  readonly startup?: HealthCheck;
}

/** What the host knows besides the service itself: that it still starts, or stops already. */
export interface HostChecks {
  readonly ready: HealthCheck;
  readonly startup: HealthCheck;
}

export interface ServiceOptions {
  readonly name: string;
  readonly config: HostConfig;
  readonly log: Log;
  /** Makes the ops listener's app, with the checks of the host: `opsApp` of the http library with metrics added. */
  readonly opsApp: (checks: HostChecks) => ServedApp;
  /**
   * Opens everything and registers how to let it go. Whatever it has registered is released when it throws. `checks` are
   * for a surface that answers health routes on its public listener too.
   */
  readonly compose: (own: Own, checks: HostChecks) => Promise<Composition>;
  /** What answers the checks of this process in place of an ops listener: where it is a worker. */
  readonly openOps?: (checks: HostChecks) => Promise<Pick<Listener, 'url' | 'close'>>;
  /** What `compose` is given in place of the checks of this process: those of all workers. */
  readonly wholeChecks?: HostChecks;
  /** How long each release may take. */
  readonly releaseTimeoutMs?: number;
  /** How often the TLS files are looked at. */
  readonly tlsPollMs?: number;
}

/** A service that is up. */
export interface RunningService {
  readonly publicUrl: string;
  readonly opsUrl: string;
  readonly adminUrl: string | undefined;
  /** Not ready, drain, close HTTP, release in reverse. Never rejects; a second call waits for the first. */
  stop(): Promise<void>;
}

const RELEASE_TIMEOUT_MS = 5_000;
const TLS_POLL_MS = 5_000;

/**
 * Brings a service up: first the ops listener, so that probes are answered while the rest starts, then what `compose`
 * opens, then the public and the admin listener.
 * @throws StartError when an operator can mend it, else whatever `compose` threw. Nothing stays open then.
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
  #ops: Pick<Listener, 'url' | 'close'> | undefined;
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
    this.#ops = await (this.#options.openOps ?? this.#listenForOps)(checks);
    this.#composition = await compose(this.#owner.own, this.#options.wholeChecks ?? checks);
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

  readonly #listenForOps = (checks: HostChecks): Promise<Listener> => {
    const { opsHost: host, opsPort: port } = this.#options.config;
    return listen({ app: this.#options.opsApp(checks), host, port, portVariable: 'OPS_PORT' });
  };

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
    // On loopback there is nothing to protect, and no name that a certificate could be for.
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
 * What the listeners serve TLS with; undefined where they do not.
 * @throws StartError when they would have to, or its files cannot be used.
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
    `${exposed} can be reached from other machines: set TLS_CERT_FILE and TLS_KEY_FILE, or TLS_TERMINATED_UPSTREAM=true behind a proxy that speaks TLS.`,
  );
}

function tlsFilesOf({ tlsCertFile, tlsKeyFile }: HostConfig) {
  return tlsCertFile === undefined || tlsKeyFile === undefined
    ? undefined
    : { certFile: tlsCertFile, keyFile: tlsKeyFile };
}

import { createHash } from 'node:crypto';
import { connectivityState, type Client } from '@grpc/grpc-js';
import { connect, hash, type Gateway } from '@hyperledger/fabric-gateway';
import type { FabricDeadlines, FabricPeer } from './connection-file.ts';
import { UnavailableError } from './fabric-errors.ts';
import type { FabricReason } from './fabric-reasons.ts';
import type { AskVerdict } from './fabric-status.ts';
import type { Identities } from './identities.ts';
import type { FabricIdentity } from './identity-files.ts';
import { peerClient, type PeerTls } from './peer-client.ts';
import { TlsFiles } from './tls-files.ts';

interface GatewayPeersOptions {
  readonly peers: readonly FabricPeer[];
  readonly deadlinesMs: FabricDeadlines;
  readonly identities: Pick<Identities, 'current' | 'background'>;
  readonly now: () => number;
  readonly onAway: (endpoint: string, reason: string) => void;
  /** TLS files that could not be loaded. */
  readonly onTlsProblem: (endpoint: string, problem: string) => void;
}

/** A peer as seen by one identity. It stays usable for its holder, even if files are rotated meanwhile. */
export interface PeerGateway {
  readonly endpoint: string;
  readonly gateway: Gateway;
  /** For Submit, which sends the journalled bytes; all other calls use the gateway client. */
  readonly client: Client;
  readonly identity: FabricIdentity;
}

const NONE: ReadonlySet<string> = new Set();
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 10_000;
/** Interval for repeating the log line while a peer keeps failing. */
const LOG_AGAIN_MS = 60_000;
/** A connection not ready for this long is replaced: grpc-js itself would wait for ever. */
const STUCK_MS = 5000;

interface Picking {
  /** Picked only if there is no other. */
  readonly tried?: ReadonlySet<string>;
  /** The name of the identity that signs; default: that of the background. */
  readonly as?: string | undefined;
}

/**
 * The gateway peers, one connection each for the calls and streams of all identities. The first one that is not in
 * backoff is used.
 */
export class GatewayPeers {
  readonly #options: GatewayPeersOptions;
  readonly #peers: Peer[];

  constructor(options: GatewayPeersOptions) {
    this.#options = options;
    this.#peers = options.peers.map((peer) => new Peer(peer, options.deadlinesMs));
  }

  /**
   * Picks the preferred peer that is not in backoff, else the one whose backoff ends first.
   *
   * @throws UnavailableError while there is no usable identity or TLS file, and for an identity that is not in the
   * connection file.
   */
  pick({ tried = NONE, as }: Picking = {}): PeerGateway {
    const { identities } = this.#options;
    const identity = as === undefined ? identities.background() : identities.current(as);
    if (identity === undefined) {
      throw new UnavailableError('The identity of this service cannot be used.', { reason: 'identity_unusable' });
    }
    const now = this.#options.now();
    const others = tried.size === 0 ? this.#peers : this.#peers.filter(({ endpoint }) => !tried.has(endpoint));
    const candidates = others.length === 0 ? this.#peers : others;
    const best = candidates.reduce((left, right) => (right.backoffUntil(now) < left.backoffUntil(now) ? right : left));
    best.probe(now);
    const connected = this.#connect(best, identity, now);
    if (connected !== undefined) return connected;
    const without = new Set([...tried, best.endpoint]);
    if (without.size < this.#peers.length) return this.pick({ tried: without, as });
    throw new UnavailableError('The TLS files for a peer cannot be used.', { reason: 'tls_files_unusable' });
  }

  /** Every peer that can be connected to, whether or not it is in backoff. Empty without a usable identity. */
  all(): PeerGateway[] {
    const identity = this.#options.identities.background();
    if (identity === undefined) return [];
    const now = this.#options.now();
    return this.#peers.flatMap((peer) => peer.connectionAs(identity, now) ?? []);
  }

  /** The same peer as seen by the identity of the background; by its own if that cannot be used. */
  inBackground(peer: PeerGateway): PeerGateway {
    return this.all().find(({ endpoint }) => endpoint === peer.endpoint) ?? peer;
  }

  /** Undefined if its TLS files cannot be used. */
  #connect(peer: Peer, identity: FabricIdentity, now: number): PeerGateway | undefined {
    const connected = peer.connectionAs(identity, now);
    if (peer.tlsProblem !== undefined && peer.mayLogTls(now)) {
      this.#options.onTlsProblem(peer.endpoint, peer.tlsProblem);
    }
    if (connected === undefined) this.backOff(peer.endpoint, undefined);
    return connected;
  }

  /** Starts a peer's backoff after a failed call. Logged only with a reason: without one it is not the peer's fault. */
  backOff(endpoint: string, reason: string | undefined): void {
    const now = this.#options.now();
    const peer = this.#peers.find((candidate) => candidate.endpoint === endpoint);
    const isNew = peer?.backOff(now) === true;
    if (reason === undefined || peer === undefined) return;
    if (peer.mayLog(isNew, now)) this.#options.onAway(endpoint, reason);
  }

  /** Records the verdict of a peer, and refines its reason by what is known of the peer. */
  recordVerdict(endpoint: string, verdict: AskVerdict): AskVerdict {
    const peer = this.#peers.find((candidate) => candidate.endpoint === endpoint);
    const refined =
      verdict.kind === 'away' && peer !== undefined
        ? { ...verdict, reason: peer.refineReason(verdict.reason, this.#options.now()) }
        : verdict;
    const isUseless = refined.kind === 'misconfigured' && refined.reason === 'not_a_gateway';
    if (refined.kind === 'away') this.backOff(endpoint, `${refined.reason}: ${refined.message}`);
    else if (isUseless) this.backOff(endpoint, undefined);
    else this.answered(endpoint);
    return refined;
  }

  answered(endpoint: string): void {
    this.#peers.find((candidate) => candidate.endpoint === endpoint)?.endBackoff();
  }

  get count(): number {
    return this.#peers.length;
  }

  close(): void {
    for (const peer of this.#peers) peer.close();
  }
}

class Peer {
  readonly endpoint: string;
  readonly #options: FabricPeer;
  readonly #deadlines: FabricDeadlines;
  readonly #files: TlsFiles;
  #tls: PeerTls | undefined;
  #client: Client | undefined;
  /** By the name of the identity. */
  readonly #gateways = new Map<string, PeerGateway>();
  /** Clients with old TLS files, each closed once its calls have ended. */
  readonly #closing = new Map<Client, NodeJS.Timeout>();
  #backoffMs = 0;
  #backoffSinceMs = 0;
  #backoffEndsAtMs = 0;
  #notReadySinceMs: number | undefined;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #loggedTlsAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: FabricPeer, deadlines: FabricDeadlines) {
    this.endpoint = options.endpoint;
    this.#options = options;
    this.#deadlines = deadlines;
    this.#files = new TlsFiles(options);
  }

  get tlsProblem(): string | undefined {
    return this.#files.problem;
  }

  mayLogTls(now: number): boolean {
    const may = now - this.#loggedTlsAtMs >= LOG_AGAIN_MS;
    if (may) this.#loggedTlsAtMs = now;
    return may;
  }

  mayLog(isNew: boolean, now: number): boolean {
    const may = isNew || now - this.#loggedAtMs >= LOG_AGAIN_MS;
    if (may) this.#loggedAtMs = now;
    return may;
  }

  /** 0 if it is not in backoff. */
  backoffUntil(now: number): number {
    return this.#backoffEndsAtMs > now ? this.#backoffEndsAtMs : 0;
  }

  /** True if it was not in backoff before. Calls that fail together start one backoff. */
  backOff(now: number): boolean {
    const first = this.#backoffMs === 0;
    if (now < this.#backoffSinceMs + this.#backoffMs) return false;
    this.#backoffSinceMs = now;
    this.#backoffMs = first ? FIRST_BACKOFF_MS : Math.min(this.#backoffMs * 2, LONGEST_BACKOFF_MS);
    this.#backoffEndsAtMs = now + this.#backoffMs;
    this.#replaceIfStuck(now);
    return first;
  }

  /** After the backoff, one call probes the peer; the others use the next peer until it has answered. */
  probe(now: number): void {
    if (this.#backoffMs > 0 && this.#backoffEndsAtMs <= now) this.#backoffEndsAtMs = now + this.#backoffMs;
  }

  endBackoff(): void {
    this.#backoffMs = 0;
    this.#backoffEndsAtMs = 0;
    this.#notReadySinceMs = undefined;
  }

  /** Undefined if there are no usable TLS files yet: a process may start before they exist. */
  connectionAs(identity: FabricIdentity, now: number): PeerGateway | undefined {
    const tls = this.#files.current(now);
    if (tls !== this.#tls) {
      this.#tls = tls;
      this.#replaceClient();
      this.endBackoff();
    }
    if (tls === undefined && this.#options.tlsCaFile !== undefined) return undefined;
    const known = this.#gateways.get(identity.name);
    if (known?.identity === identity) return known;
    const { mspId, certificate } = identity;
    const client = (this.#client ??= peerClient(this.#options, tls));
    const gateway = connect({
      client,
      identity: { mspId, credentials: certificate },
      // The signer hashes the message itself, natively.
      hash: hash.none,
      signer: (message) => Promise.resolve(identity.sign(message)),
      // Block streams are bound to the client certificate of their connection.
      ...(tls?.client === undefined
        ? {}
        : { tlsClientCertificateHash: createHash('sha256').update(tls.client.der).digest() }),
    });
    const connection = { endpoint: this.endpoint, gateway, client, identity };
    this.#gateways.set(identity.name, connection);
    return connection;
  }

  /** Refines grpc-js's reason: whether a certificate problem concerns the peer's or ours is known here. */
  refineReason(reason: FabricReason, now: number): FabricReason {
    if (reason === 'tls_certificate_expired' && (this.#tls?.caExpiresAtMs ?? Number.POSITIVE_INFINITY) <= now) {
      return 'tls_ca_expired';
    }
    if (reason === 'tls_client_certificate_required' && this.#tls?.client !== undefined) {
      return 'tls_client_certificate_refused';
    }
    return reason;
  }

  close(): void {
    this.#client?.close();
    for (const [client, timer] of this.#closing) {
      clearTimeout(timer);
      client.close();
    }
  }

  #replaceIfStuck(now: number): void {
    const isReady = this.#client?.getChannel().getConnectivityState(false) === connectivityState.READY;
    if (isReady || this.#client === undefined) this.#notReadySinceMs = undefined;
    else this.#notReadySinceMs ??= now;
    if (this.#notReadySinceMs === undefined || now - this.#notReadySinceMs < STUCK_MS) return;
    this.#replaceClient();
  }

  /** The next call opens a new connection; running calls end on the old one, all within their deadlines. */
  #replaceClient(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#gateways.clear();
    this.#notReadySinceMs = undefined;
    if (client === undefined) return;
    const { evaluate, endorse, submit, commitStatus } = this.#deadlines;
    const close = (): void => {
      this.#closing.delete(client);
      client.close();
    };
    this.#closing.set(client, setTimeout(close, Math.max(evaluate, endorse, submit, commitStatus)).unref());
  }
}

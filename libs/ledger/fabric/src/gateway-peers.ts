import { createHash } from 'node:crypto';
import { connectivityState, type Client } from '@grpc/grpc-js';
import { connect, hash, type Gateway } from '@hyperledger/fabric-gateway';
import type { FabricDeadlines, FabricPeer } from './connection-file.ts';
import { UnavailableError } from './fabric-errors.ts';
import type { FabricReason } from './fabric-reasons.ts';
import type { AskVerdict } from './fabric-status.ts';
import type { FabricIdentity } from './identity-files.ts';
import { peerClient, type PeerTls } from './peer-client.ts';
import { TlsFiles } from './tls-files.ts';

export interface GatewayPeersOptions {
  readonly peers: readonly FabricPeer[];
  readonly deadlinesMs: FabricDeadlines;
  readonly identity: () => FabricIdentity | undefined;
  readonly now: () => number;
  readonly onAway: (endpoint: string, reason: string) => void;
  /** TLS files that could not be taken over. */
  readonly onTlsProblem: (endpoint: string, problem: string) => void;
}

/** A peer, spoken to as one identity. It stays good for whoever holds it, whatever is rotated meanwhile. */
export interface PeerGateway {
  readonly endpoint: string;
  readonly gateway: Gateway;
  /** For Submit, whose bytes are journalled; all else goes through the gateway client. */
  readonly client: Client;
  readonly identity: FabricIdentity;
}

const NONE: ReadonlySet<string> = new Set();
const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 10_000;
/** While a peer goes on failing, the log says so again so often. */
const SAY_AGAIN_MS = 60_000;
/** A connection that is not made, or made to nobody, for so long is given up for a new one: grpc-js itself waits for ever. */
const STUCK_MS = 5000;

/** The gateway peers, one connection each for calls and streams. The first that is not resting is used. */
export class GatewayPeers {
  readonly #options: GatewayPeersOptions;
  readonly #peers: Peer[];

  constructor(options: GatewayPeersOptions) {
    this.#options = options;
    this.#peers = options.peers.map((peer) => new Peer(peer, options.deadlinesMs));
  }

  /**
   * The preferred peer that is not resting, else the one whose rest ends first; none of those that were tried before while
   * there is another one.
   *
   * @throws UnavailableError while there is no usable identity or TLS file.
   */
  pick(tried: ReadonlySet<string> = NONE): PeerGateway {
    const identity = this.#options.identity();
    if (identity === undefined) {
      throw new UnavailableError('The identity of this service cannot be used.', { reason: 'identity_unusable' });
    }
    const now = this.#options.now();
    const others = tried.size === 0 ? this.#peers : this.#peers.filter(({ endpoint }) => !tried.has(endpoint));
    const candidates = others.length === 0 ? this.#peers : others;
    const best = candidates.reduce((left, right) => (right.restsUntil(now) < left.restsUntil(now) ? right : left));
    best.probe(now);
    const connected = this.#connect(best, identity, now);
    if (connected !== undefined) return connected;
    const without = new Set([...tried, best.endpoint]);
    if (without.size < this.#peers.length) return this.pick(without);
    throw new UnavailableError('The TLS files for a peer cannot be used.', { reason: 'tls_files_unusable' });
  }

  /** Undefined where its TLS files cannot be used. */
  #connect(peer: Peer, identity: FabricIdentity, now: number): PeerGateway | undefined {
    const connected = peer.connectionAs(identity, now);
    if (peer.tlsProblem !== undefined && peer.mayTellTls(now)) {
      this.#options.onTlsProblem(peer.endpoint, peer.tlsProblem);
    }
    if (connected === undefined) this.rest(peer.endpoint, undefined);
    return connected;
  }

  /** It did not answer: others are asked first for a while. Without a reason that is not told: it is not the peer's fault. */
  rest(endpoint: string, reason: string | undefined): void {
    const now = this.#options.now();
    const peer = this.#peers.find((candidate) => candidate.endpoint === endpoint);
    const isNew = peer?.rest(now) === true;
    if (reason === undefined || peer === undefined) return;
    if (peer.mayTell(isNew, now)) this.#options.onAway(endpoint, reason);
  }

  /** Takes note of what a peer said, and makes its reason exact by what is known of the peer. */
  judged(endpoint: string, verdict: AskVerdict): AskVerdict {
    const isUseless = verdict.kind === 'misconfigured' && verdict.reason === 'not_a_gateway';
    if (verdict.kind === 'away') this.rest(endpoint, verdict.message);
    else if (isUseless) this.rest(endpoint, undefined);
    else this.answered(endpoint);
    if (!('reason' in verdict)) return verdict;
    const peer = this.#peers.find((candidate) => candidate.endpoint === endpoint);
    return peer === undefined ? verdict : { ...verdict, reason: peer.exactly(verdict.reason, this.#options.now()) };
  }

  answered(endpoint: string): void {
    this.#peers.find((candidate) => candidate.endpoint === endpoint)?.wake();
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
  #connection: PeerGateway | undefined;
  /** Clients with old TLS files, each until what is under way there has ended. */
  readonly #leaving = new Map<Client, NodeJS.Timeout>();
  #restMs = 0;
  #restedAtMs = 0;
  #restUntilMs = 0;
  #notReadySinceMs: number | undefined;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #toldTlsAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: FabricPeer, deadlines: FabricDeadlines) {
    this.endpoint = options.endpoint;
    this.#options = options;
    this.#deadlines = deadlines;
    this.#files = new TlsFiles(options);
  }

  get tlsProblem(): string | undefined {
    return this.#files.problem;
  }

  mayTellTls(now: number): boolean {
    const may = now - this.#toldTlsAtMs >= SAY_AGAIN_MS;
    if (may) this.#toldTlsAtMs = now;
    return may;
  }

  mayTell(isNew: boolean, now: number): boolean {
    const may = isNew || now - this.#toldAtMs >= SAY_AGAIN_MS;
    if (may) this.#toldAtMs = now;
    return may;
  }

  /** 0 where it does not rest. */
  restsUntil(now: number): number {
    return this.#restUntilMs > now ? this.#restUntilMs : 0;
  }

  /** True when it was awake. Calls that fail together make one rest. */
  rest(now: number): boolean {
    const first = this.#restMs === 0;
    if (now < this.#restedAtMs + this.#restMs) return false;
    this.#restedAtMs = now;
    this.#restMs = first ? FIRST_REST_MS : Math.min(this.#restMs * 2, LONGEST_REST_MS);
    this.#restUntilMs = now + this.#restMs;
    this.#leaveWhereStuck(now);
    return first;
  }

  /** Its rest is over: one call finds out whether it answers, and the others stay with the next peer until it has. */
  probe(now: number): void {
    if (this.#restMs > 0 && this.#restUntilMs <= now) this.#restUntilMs = now + this.#restMs;
  }

  wake(): void {
    this.#restMs = 0;
    this.#restUntilMs = 0;
    this.#notReadySinceMs = undefined;
  }

  /** Undefined where there are no usable TLS files yet: a process may be started before they are there. */
  connectionAs(identity: FabricIdentity, now: number): PeerGateway | undefined {
    const tls = this.#files.current(now);
    if (tls !== this.#tls) {
      this.#tls = tls;
      this.#leave();
      this.wake();
    }
    if (tls === undefined && this.#options.tlsCaFile !== undefined) return undefined;
    if (this.#connection?.identity === identity) return this.#connection;
    const { mspId, certificate } = identity;
    const client = (this.#client ??= peerClient(this.#options, tls));
    const gateway = connect({
      client,
      identity: { mspId, credentials: certificate },
      // The signer hashes the message itself, natively.
      hash: hash.none,
      signer: (message) => Promise.resolve(identity.sign(message)),
      // Block streams are bound to the certificate of their connection.
      ...(tls?.client === undefined
        ? {}
        : { tlsClientCertificateHash: createHash('sha256').update(tls.client.der).digest() }),
    });
    this.#connection = { endpoint: this.endpoint, gateway, client, identity };
    return this.#connection;
  }

  /** grpc-js knows why a connection fails; whose certificate it is about is known here. */
  exactly(reason: FabricReason, now: number): FabricReason {
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
    for (const [client, timer] of this.#leaving) {
      clearTimeout(timer);
      client.close();
    }
  }

  #leaveWhereStuck(now: number): void {
    const isReady = this.#client?.getChannel().getConnectivityState(false) === connectivityState.READY;
    if (isReady || this.#client === undefined) this.#notReadySinceMs = undefined;
    else this.#notReadySinceMs ??= now;
    if (this.#notReadySinceMs === undefined || now - this.#notReadySinceMs < STUCK_MS) return;
    this.#leave();
  }

  /** The next call takes a new connection; calls under way end over the old one, all within their deadlines. */
  #leave(): void {
    const client = this.#client;
    this.#client = undefined;
    this.#connection = undefined;
    this.#notReadySinceMs = undefined;
    if (client === undefined) return;
    const { evaluate, endorse, submit, commitStatus } = this.#deadlines;
    const close = (): void => {
      this.#leaving.delete(client);
      client.close();
    };
    this.#leaving.set(client, setTimeout(close, Math.max(evaluate, endorse, submit, commitStatus)).unref());
  }
}

import { readFileSync } from 'node:fs';
import { Client, credentials, type ClientOptions } from '@grpc/grpc-js';
import { connect, hash, type Gateway } from '@hyperledger/fabric-gateway';
import type { FabricDeadlines, FabricPeer } from './connection-file.ts';
import { UnavailableError } from './fabric-errors.ts';
import { GrpcConnection } from './grpc-connection.ts';
import type { FabricIdentity } from './identity-files.ts';
import { PING_EVERY_MS, PONG_WITHIN_MS } from './peer-session.ts';
import { unaryCallsOver } from './unary-calls-over.ts';

export interface GatewayPeersOptions {
  readonly peers: readonly FabricPeer[];
  readonly deadlinesMs: FabricDeadlines;
  readonly identity: () => FabricIdentity | undefined;
  readonly now: () => number;
  readonly onAway: (endpoint: string, reason: string) => void;
}

/** A peer, spoken to as one identity. It stays good for whoever holds it, whatever is rotated meanwhile. */
export interface PeerGateway {
  readonly endpoint: string;
  readonly gateway: Gateway;
  /** For Submit, whose bytes are journalled; all else goes through the gateway client. */
  readonly connection: GrpcConnection;
  readonly identity: FabricIdentity;
}

const NONE: ReadonlySet<string> = new Set();
const FIRST_REST_MS = 500;
const LONGEST_REST_MS = 10_000;
/** A message holds a whole transaction, so the limit is that of the orderer and not grpc's own 4 MiB. */
const MESSAGE_MAX_BYTES = 128 * 1024 * 1024;

/** Of the streams. */
const CHANNEL_OPTIONS: ClientOptions = {
  'grpc.keepalive_time_ms': PING_EVERY_MS,
  'grpc.keepalive_timeout_ms': PONG_WITHIN_MS,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  'grpc.max_receive_message_length': MESSAGE_MAX_BYTES,
  'grpc.max_send_message_length': MESSAGE_MAX_BYTES,
  // What is sent again, and when, is decided here and not by grpc.
  'grpc.enable_retries': 0,
};

/** The gateway peers: one connection each for calls and one for streams, shared by all. The first that is not resting is used. */
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
    if (identity === undefined) throw new UnavailableError('The identity of this service cannot be used.');
    const now = this.#options.now();
    const others = tried.size === 0 ? this.#peers : this.#peers.filter(({ endpoint }) => !tried.has(endpoint));
    const candidates = others.length === 0 ? this.#peers : others;
    const best = candidates.reduce((left, right) => (right.restsUntil(now) < left.restsUntil(now) ? right : left));
    best.probe(now);
    return this.#connect(best, identity);
  }

  #connect(peer: Peer, identity: FabricIdentity): PeerGateway {
    try {
      return peer.connectionAs(identity);
    } catch (cause) {
      this.rest(peer.endpoint, 'its TLS certificate authority cannot be read');
      throw new UnavailableError('The TLS certificate authority of a peer cannot be read.', { cause });
    }
  }

  /** It did not answer: others are asked first for a while. Without a reason that is not told: it is not the peer's fault. */
  rest(endpoint: string, reason: string | undefined): void {
    const peer = this.#peers.find((candidate) => candidate.endpoint === endpoint);
    const isNew = peer?.rest(this.#options.now()) === true;
    if (isNew && reason !== undefined) this.#options.onAway(endpoint, reason);
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
  #clients: PeerClients | undefined;
  #connection: PeerGateway | undefined;
  #restMs = 0;
  #restedAtMs = 0;
  #restUntilMs = 0;

  constructor(options: FabricPeer, deadlines: FabricDeadlines) {
    this.endpoint = options.endpoint;
    this.#options = options;
    this.#deadlines = deadlines;
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
    return first;
  }

  /** Its rest is over: one call finds out whether it answers, and the others stay with the next peer until it has. */
  probe(now: number): void {
    if (this.#restMs > 0 && this.#restUntilMs <= now) this.#restUntilMs = now + this.#restMs;
  }

  wake(): void {
    this.#restMs = 0;
    this.#restUntilMs = 0;
  }

  connectionAs(identity: FabricIdentity): PeerGateway {
    if (this.#connection?.identity === identity) return this.#connection;
    const { mspId, certificate } = identity;
    const { client, connection } = (this.#clients ??= this.#newClients());
    const gateway = connect({
      client,
      identity: { mspId, credentials: certificate },
      // The signer hashes the message itself, natively.
      hash: hash.none,
      signer: (message) => Promise.resolve(identity.sign(message)),
      // Evaluate and Endorse are given what is left of their caller's time, each time.
      commitStatusOptions: () => ({ deadline: Date.now() + this.#deadlines.commitStatus }),
    });
    this.#connection = { endpoint: this.endpoint, gateway, connection, identity };
    return this.#connection;
  }

  /** The file is read when the peer is first used: a process may be started before its certificates are there. */
  #newClients(): PeerClients {
    const { endpoint } = this;
    const { tlsCaFile, serverNameOverride: serverName } = this.#options;
    const tlsCa = tlsCaFile === undefined ? undefined : readFileSync(tlsCaFile);
    const security = tlsCa === undefined ? credentials.createInsecure() : credentials.createSsl(tlsCa);
    const override = serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName };
    const client = new Client(endpoint, security, { ...CHANNEL_OPTIONS, ...override });
    const connection = new GrpcConnection({ endpoint, tlsCa, serverName, answerMaxBytes: MESSAGE_MAX_BYTES });
    return { client: Object.assign(client, { makeUnaryRequest: unaryCallsOver(connection) }), connection };
  }

  close(): void {
    this.#clients?.client.close();
    this.#clients?.connection.close();
  }
}

interface PeerClients {
  readonly client: Client;
  readonly connection: GrpcConnection;
}

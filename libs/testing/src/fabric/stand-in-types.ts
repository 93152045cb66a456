import type { CallStatus, FaultRegister } from './faults.ts';

/** One chaincode of the stand-in. It runs as a child process, reached over the chaincode shim protocol. */
export interface ChaincodeOptions {
  readonly name: string;
  /** Absolute path of a Node program that serves CHAINCODE_ID at CHAINCODE_SERVER_ADDRESS. */
  readonly program: string;
  /** Added to the child's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Names of its private collections, besides the implicit ones. */
  readonly collections?: readonly string[];
  /** Channels on which it is defined. Default: all. */
  readonly channels?: readonly string[];
}

export interface StandInPeerOptions {
  readonly chaincodes: readonly ChaincodeOptions[];
  /** Default: `main` only. */
  readonly channels?: readonly string[];
  /** Default `Org1MSP`: the organisation of the peer and of `peer.identity`. */
  readonly mspId?: string;
  /** The organisation of the peer, if that is not the one of `peer.identity`. */
  readonly peerMspId?: string;
  /** MSP ids of organisations whose peers endorse what a client asks them to, besides the peer's own. */
  readonly furtherOrganizations?: readonly string[];
  /** Default true. */
  readonly tls?: boolean;
  /** PEM of a CA; if given, clients need a TLS certificate issued by it. */
  readonly tlsClientCa?: string;
  /** Maximum age of a block's first transaction before the block is cut. Default 20. */
  readonly batchTimeoutMs?: number;
  /** Maximum transactions per block. Default 100. */
  readonly maxMessageCount?: number;
  /** Larger envelopes are refused at Submit. Default 10 MiB. */
  readonly absoluteMaxBytes?: number;
  /** Maximum concurrent gateway calls; more are refused. Default 500. */
  readonly concurrencyLimit?: number;
  /** Timeout of a chaincode execution. Default 30 s. */
  readonly executeTimeoutMs?: number;
}

/** A client identity; the files are PEM. */
export interface ClientIdentity {
  readonly mspId: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** A transaction in a block. `code` is a TxValidationCode: 0 is VALID. */
export interface CommittedTransaction {
  readonly transactionId: string;
  readonly blockNumber: bigint;
  readonly code: number;
  readonly chaincode: string;
  /** MSP ids. */
  readonly endorsers: readonly string[];
}

/** Direct view of a channel, to verify what a client reports. */
export interface ChannelView {
  /** Number of blocks, including the genesis block. */
  height(): number;
  /** In block order; a transaction ordered twice is listed twice. */
  transactions(): readonly CommittedTransaction[];
  /** Text of a key in the world state; undefined if missing. */
  state(chaincode: string, key: string): string | undefined;
  /** All blocks, serialized. */
  blocks(): Uint8Array[];
  /** Number of ordered envelopes that are not in a block yet. */
  pending(): number;
}

export interface FurtherPeer {
  readonly url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** It commits and delivers no further blocks: reads see the state up to now. Commit status is still answered. */
  lag(): void;
  catchUp(): void;
}

export interface StandInPeer {
  /** `localhost:<port>`, for a gRPC client. Stable over stop and start. */
  readonly url: string;
  /** PEM of the CA of the peer's TLS certificate; undefined without TLS. */
  readonly tlsCaFile: string | undefined;
  /** A client of the peer's own organisation. */
  readonly identity: ClientIdentity;
  /** Contains every file of the stand-in; removed by `close`. */
  readonly directory: string;
  /** Stops the peer: connections are cut. World state, blocks, ordered envelopes and chaincodes stay. */
  stop(): Promise<void>;
  /** Restarts the peer with its data at the same address. */
  start(): Promise<void>;
  /** Stops for good, with chaincodes and further peers, and removes the directory. */
  close(): Promise<void>;
  /** Adds a peer of the same organisation: same channels, blocks and chaincodes, with its own url. */
  addPeer(): Promise<FurtherPeer>;
  /**
   * Creates a client identity: of the peer's organisation, or of one unknown to the channel. Contracts read its
   * attributes from the certificate.
   */
  enroll(commonName: string, mspId?: string, attributes?: Readonly<Record<string, string>>): ClientIdentity;
  /** @throws Error if there is no such channel. */
  channel(name: string): ChannelView;
  /** From now on this peer has no earlier blocks, as if it had begun from a snapshot. Further peers have them. */
  beginAt(block: number): void;
  /** Fault injection. */
  readonly faults: FaultRegister;
  readonly orderer: {
    /** Submit returns 14 from now on. Earlier envelopes are still cut into blocks. */
    stop(): void;
    start(): void;
    /** Envelopes are acknowledged, but no block is cut. */
    hold(): void;
    /** Cuts the held envelopes into blocks. */
    release(): void;
    /**
     * Drops acknowledged envelopes that are not in a block, like an orderer that dies. The same envelope sent again
     * commits.
     */
    forget(): void;
  };
  /** Controls the block and event streams of the first peer. */
  readonly blockStreams: {
    /** They stay open and silent. Commit status is still answered. */
    hold(): void;
    release(): void;
    /** Ends the open ones; default status 14. */
    cut(status?: CallStatus): void;
  };
  readonly chaincode: {
    /** SIGKILL. It stays down until `start`. */
    kill(name: string): Promise<void>;
    start(name: string): Promise<void>;
    /** SIGSTOP: it stays connected but silent until `thaw`. */
    freeze(name: string): void;
    thaw(name: string): void;
    /** Its pid; undefined while it is down. */
    pid(name: string): number | undefined;
  };
}

import type { CallStatus, FaultRegister } from './faults.ts';

/** One chaincode of the stand-in. It runs as a child process of its own, reached over the chaincode shim protocol. */
export interface ChaincodeOptions {
  readonly name: string;
  /** Absolute path of a program for Node that serves CHAINCODE_ID at CHAINCODE_SERVER_ADDRESS, as a chaincode service does. */
  readonly program: string;
  /** Added to the child's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is defined; on every channel unless given. */
  readonly channels?: readonly string[];
}

export interface StandInPeerOptions {
  readonly chaincodes: readonly ChaincodeOptions[];
  /** Default: one, `main`. */
  readonly channels?: readonly string[];
  /** Default `Org1MSP`: the organisation of the peer and of `peer.identity`. */
  readonly mspId?: string;
  /** Default true. */
  readonly tls?: boolean;
  /** PEM. Given: clients need a TLS certificate by this authority. */
  readonly tlsClientCa?: string;
  /** A block is cut this long after its first transaction came. Default 20. */
  readonly batchTimeoutMs?: number;
  /** A block is cut when it holds so many. Default 100. */
  readonly maxMessageCount?: number;
  /** Larger envelopes are refused at Submit. Default 10 MiB. */
  readonly absoluteMaxBytes?: number;
  /** More calls to the gateway at once are refused. Default 500. */
  readonly concurrencyLimit?: number;
  /** A chaincode that answers later fails its transaction. Default 30 s. */
  readonly executeTimeoutMs?: number;
}

/** Files and names with which a client can reach the peer and sign. All PEM. */
export interface ClientIdentity {
  readonly mspId: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** What a block says of one transaction. `code` is a TxValidationCode: 0 is VALID. */
export interface CommittedTransaction {
  readonly transactionId: string;
  readonly blockNumber: bigint;
  readonly code: number;
  readonly chaincode: string;
}

/** What a test may look at behind the peer's back, to check what a client says about it. */
export interface ChannelView {
  /** Blocks so far, the genesis block included. */
  height(): number;
  /** In the order of the blocks; a transaction ordered twice is there twice. */
  transactions(): readonly CommittedTransaction[];
  /** Text of a key in the world state, undefined where it is not. */
  state(chaincode: string, key: string): string | undefined;
  /** Envelopes that were ordered and are in no block yet. */
  pending(): number;
}

export interface FurtherPeer {
  readonly url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface StandInPeer {
  /** `localhost:<port>`, for a gRPC client. It stays the same over stop and start. */
  readonly url: string;
  /** PEM of the CA that vouches for the peer's TLS certificate; undefined without TLS. */
  readonly tlsCaFile: string | undefined;
  /** A client of the peer's own organisation. */
  readonly identity: ClientIdentity;
  /** Holds every file that the stand-in made; removed by `close`. */
  readonly directory: string;
  /** The peer goes away: connections are cut. World state, blocks, what was ordered, and chaincodes stay. */
  stop(): Promise<void>;
  /** The peer comes back with what it had, at the same address. */
  start(): Promise<void>;
  /** Stops for good, with chaincodes and further peers, and removes the directory. */
  close(): Promise<void>;
  /** Another peer of the same organisation on the same channels: same blocks, same chaincodes, a url of its own. */
  addPeer(): Promise<FurtherPeer>;
  /** Another client: of the peer's organisation, or of one that the channel does not know. */
  enroll(commonName: string, mspId?: string): ClientIdentity;
  /** Throws Error when there is no such channel. */
  channel(name: string): ChannelView;
  /** What goes wrong, and when. */
  readonly faults: FaultRegister;
  readonly orderer: {
    /** Submit answers 14 from now on. What was ordered before is still cut into blocks. */
    stop(): void;
    start(): void;
    /** Envelopes are taken and acknowledged, and no block is cut. */
    hold(): void;
    /** Cuts what was held. */
    release(): void;
    /** Loses what was acknowledged and is in no block yet, as an orderer does that dies. The same envelope sent again commits. */
    forget(): void;
  };
  /** Block and event streams, all at once. */
  readonly blockStreams: {
    /** They stay open, and nothing comes. Commit status is answered all the same. */
    hold(): void;
    release(): void;
    /** Ends those that are open now; default 14. */
    cut(status?: CallStatus): void;
  };
  readonly chaincode: {
    /** SIGKILL. It stays away until `start`. */
    kill(name: string): Promise<void>;
    start(name: string): Promise<void>;
    /** SIGSTOP: it stays connected, and answers nothing until `thaw`. */
    freeze(name: string): void;
    thaw(name: string): void;
    /** Its process id; undefined while it is away. */
    pid(name: string): number | undefined;
  };
}

import { randomBytes } from 'node:crypto';
import type { LedgerReader } from './fabric-reader.ts';

/**
 * A Fabric network with fault injection: the stand-in of `@sealgate/testing/fabric`, or a real one. Each fault returns
 * once it has taken effect, and lasts until it is undone.
 */
export interface FabricNetwork {
  /** For the titles of stories. */
  readonly title: string;
  /** Fabric's name of the channel whose transactions need all components of the network. */
  readonly mainChannel: string;
  /** Fabric's name of another channel. */
  readonly otherChannel: string;
  /** FABRIC_CONFIG of a surface without channels and deadlines: one gateway peer. */
  readonly connection: FabricAccess;
  /** Reads the contract's state with a client of its own, not through any of our surfaces. */
  readonly reader: LedgerReader;
  /** The gateway peer, the orderer, and the contract `records` wherever it runs. */
  readonly peer: Killable & Freezable;
  readonly orderer: Killable & Freezable;
  readonly contract: Killable & Freezable;
  /** Undoes every fault, and returns once transactions commit again. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

interface Killable {
  /** Like a crash: whatever it had not passed on is lost. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

interface Freezable {
  /** It keeps its connections and stops working: an orderer creates no blocks, a contract does not answer. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface FabricAccess {
  readonly mspId: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly peers: readonly {
    readonly endpoint: string;
    readonly tlsCaFile?: string;
    readonly serverNameOverride?: string;
  }[];
}

/** A prefix of ids and types that no other run on the same network has used. */
export const freshTag = (): string => `t${randomBytes(5).toString('hex')}`;

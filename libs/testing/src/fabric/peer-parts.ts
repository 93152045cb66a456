import type { ChaincodeProcess } from './chaincode-process.ts';
import type { ChannelLedger } from './channel-ledger.ts';
import type { Endorser } from './endorser.ts';
import type { ErrorDetail, Faults } from './faults.ts';
import type { Membership } from './membership.ts';
import type { Orderer } from './orderer.ts';
import type { StreamGate } from './send-blocks.ts';

/** State shared by the peer's services; it outlives a stop. */
export interface PeerParts {
  /** Of this peer's organisation. */
  readonly mspId: string;
  readonly ledgers: ReadonlyMap<string, ChannelLedger>;
  readonly chaincodes: ReadonlyMap<string, ChaincodeProcess>;
  readonly isDefined: (chaincode: string, channel: string) => boolean;
  readonly hasCollection: (chaincode: string, collection: string) => boolean;
  readonly members: Membership;
  /** By MSP id; the first is of this peer. */
  readonly endorsers: ReadonlyMap<string, Endorser>;
  readonly orderer: Orderer;
  readonly faults: Faults;
  readonly streams: StreamGate;
  /** Number of blocks of a channel that this peer has committed: it may lag behind the others. */
  readonly heightOf: (ledger: ChannelLedger) => number;
  /** The first block that this peer has; it is not 0 if the peer began from a snapshot. */
  readonly snapshot: { firstBlock: number };
  readonly limits: { readonly absoluteMaxBytes: number };
  /** An error detail of this peer. */
  readonly detail: (message: string) => ErrorDetail;
}

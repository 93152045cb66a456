import type { JsonValue } from '@sealgate/json';
import type { Receipt, RecordProof } from './receipt.ts';

/** The receipt of a record of our contract on Fabric. */
export interface FabricReceipt {
  readonly network: string;
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  readonly extra: JsonValue | null;
  readonly version: number;
  /** SHA-256 over JCS({type, owner, data, extra}) as the contract has them, lower-case hex. */
  readonly contentHash: string;
  /** Fabric's: 64 lower hex digits. */
  readonly transactionId: string;
  /** The submitter's time of the transaction. */
  readonly at: string;
}

/** A call and what peers signed about it; binary members are base64. */
export type AttestedCall = {
  /** A `SignedProposal`. */
  readonly proposal: string;
  /** A `ProposalResponsePayload` and an `Endorsement` each. */
  readonly responses: {
    readonly mspId: string;
    readonly payload: string;
    readonly endorsement: string;
  }[];
};

/**
 * What peers signed about a record: that the contract answers it (`view`), and that the transaction that wrote it is in
 * the channel, with its validation code (`statement`). `npx sealgate-verify fabric` checks it.
 */
export interface FabricProof {
  readonly v: 1;
  readonly kind: 'fabric';
  /** Fabric's name. */
  readonly channel: string;
  readonly chaincode: string;
  readonly view: AttestedCall;
  readonly statement: AttestedCall & { readonly transactionId: string };
  /** The whole block of the transaction, if it was asked for: with everything else that is in it. */
  readonly block?: string;
}

/** A record in a log, and its proof. */
export interface ProvedInLog {
  readonly receipt: Receipt;
  readonly proof: RecordProof;
}

/** A record on Fabric, and what peers signed about it. */
export interface ProvedOnFabric {
  readonly receipt: FabricReceipt;
  readonly proof: FabricProof;
}

export type ProvedRecord = ProvedInLog | ProvedOnFabric;

export const isOnFabric = (proved: ProvedRecord): proved is ProvedOnFabric => 'kind' in proved.proof;

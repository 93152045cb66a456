import { EventEmitter } from 'node:events';
import { type KeyObject, verify, X509Certificate } from 'node:crypto';
import { type common, msp, peer } from '@hyperledger/fabric-protos';
import { makeBlock, makeGenesisBlock, transactionsIn, type Block } from './blocks.ts';
import type { Faults } from './faults.ts';
import { parseEnvelope, parseTransaction, type ParsedEnvelope, type ParsedTransaction } from './signed-request.ts';
import type { CommittedTransaction } from './stand-in-types.ts';
import { validateReads, writesOf, type KeyWrite } from './validate-reads.ts';
import { WorldState } from './world-state.ts';

const { VALID, DUPLICATE_TXID, ENDORSEMENT_POLICY_FAILURE, BAD_RESPONSE_PAYLOAD } = peer.TxValidationCode;

interface ChannelParts {
  readonly faults: Faults;
  /** A serialized ConfigEnvelope. */
  readonly config: Uint8Array;
}

/** Blocks and state of one channel. Emits `block` for each committed block. */
export class ChannelLedger extends EventEmitter<{ block: [Block] }> {
  readonly name: string;
  readonly #publicKeys: readonly KeyObject[];
  readonly #faults: Faults;
  readonly #blocks: Block[];
  readonly #committed: CommittedTransaction[] = [];
  readonly #byId = new Map<string, CommittedTransaction>();
  readonly #states = new Map<string, WorldState>();

  /** By transaction, what it writes to collections once it is valid. */
  readonly #private = new Map<string, readonly KeyWrite[]>();

  /** @param endorsers One of them must endorse; serialized identities. */
  constructor(name: string, endorsers: readonly Uint8Array[], { faults, config }: ChannelParts) {
    super();
    this.setMaxListeners(0);
    this.name = name;
    this.#publicKeys = endorsers.map(publicKeyOf);
    this.#faults = faults;
    this.#blocks = [makeGenesisBlock(name, config)];
  }

  get height(): number {
    return this.#blocks.length;
  }

  block(number: number): Block | undefined {
    return this.#blocks[number];
  }

  get transactions(): readonly CommittedTransaction[] {
    return this.#committed;
  }

  /** The first transaction with that id. */
  find(transactionId: string): CommittedTransaction | undefined {
    return this.#byId.get(transactionId);
  }

  /** The envelope of that transaction, and its validation code. */
  processed(transactionId: string): { readonly envelope: Uint8Array; readonly code: number } | undefined {
    const found = this.#byId.get(transactionId);
    const block = found === undefined ? undefined : this.#blocks[Number(found.blockNumber)];
    if (found === undefined || block === undefined) return undefined;
    const place = transactionsIn(block).findIndex((transaction) => transaction.transactionId === transactionId);
    return { envelope: block.getData()!.getDataList_asU8()[place]!, code: found.code };
  }

  state(namespace: string): WorldState {
    const state = this.#states.get(namespace) ?? new WorldState();
    this.#states.set(namespace, state);
    return state;
  }

  /** Keeps private writes of an endorsed transaction until its block. */
  keepPrivate(transactionId: string, writes: readonly KeyWrite[]): void {
    if (writes.length > 0) this.#private.set(transactionId, writes);
  }

  /** Validates in order, each transaction against the state left by the earlier ones, and appends the block. */
  commit(envelopes: readonly InstanceType<typeof common.Envelope>[]): void {
    const number = this.#blocks.length;
    const codes = envelopes.map((envelope, place) => this.#commitOne(parseEnvelope(envelope), number, place));
    const block = makeBlock({ channel: this.name, number, previous: this.#blocks.at(-1)!, envelopes, codes });
    this.#blocks.push(block);
    this.emit('block', block);
  }

  #commitOne({ payload, channelHeader }: ParsedEnvelope, block: number, transaction: number): number {
    const transactionId = channelHeader.getTxId();
    const parsed = tryParse(payload);
    const code = this.#judge(transactionId, parsed);
    if (code === VALID) {
      const readWriteSet = parsed!.action.getResults_asU8();
      const timestamp: unknown = channelHeader.getTimestamp();
      const writes = [...writesOf(readWriteSet), ...(this.#private.get(transactionId) ?? [])];
      for (const { namespace, key, value } of writes) {
        this.state(namespace).apply(key, { block, transaction, value, transactionId, timestamp });
      }
    }
    const chaincode = parsed?.action.getChaincodeId()?.getName() ?? '';
    const endorsers = (parsed?.endorsements ?? []).map((endorsement) =>
      msp.SerializedIdentity.deserializeBinary(endorsement.getEndorser_asU8()).getMspid(),
    );
    const committed = { transactionId, blockNumber: BigInt(block), code, chaincode, endorsers };
    this.#committed.push(committed);
    if (!this.#byId.has(transactionId)) this.#byId.set(transactionId, committed);
    return code;
  }

  #judge(transactionId: string, parsed: ParsedTransaction | undefined): number {
    if (this.#byId.has(transactionId)) return DUPLICATE_TXID;
    if (parsed === undefined) return BAD_RESPONSE_PAYLOAD;
    if (!this.#isEndorsed(parsed)) return ENDORSEMENT_POLICY_FAILURE;
    const code = validateReads(parsed.action.getResults_asU8(), (namespace) => this.state(namespace));
    return code === VALID ? (this.#faults.verdict('commit', transactionId) ?? VALID) : code;
  }

  /** The only supported policy: signed by one of the endorsers. */
  #isEndorsed({ proposalResponsePayload, endorsements }: ParsedTransaction): boolean {
    return endorsements.some((endorsement) => {
      const signed = Buffer.concat([proposalResponsePayload, endorsement.getEndorser_asU8()]);
      return this.#publicKeys.some((key) => verify('sha256', signed, key, endorsement.getSignature_asU8()));
    });
  }
}

function publicKeyOf(endorser: Uint8Array): KeyObject {
  const identity = msp.SerializedIdentity.deserializeBinary(endorser);
  return new X509Certificate(Buffer.from(identity.getIdBytes_asU8())).publicKey;
}

function tryParse(payload: InstanceType<typeof common.Payload>): ParsedTransaction | undefined {
  try {
    return parseTransaction(payload);
  } catch {
    return undefined; // Still ordered: orderers do not inspect payloads.
  }
}

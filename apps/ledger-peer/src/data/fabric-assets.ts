import assert from 'node:assert/strict';
import { defined } from '@sealgate/json';
import {
  ClaimTakenError,
  ContractRefusedError,
  FABRIC_REASONS,
  FabricError,
  InvalidatedError,
  MisconfiguredError,
  OverloadedError,
  UnavailableError,
  proveFabricRecord,
  readChannelTrust,
  UnknownOutcomeError,
  UnsupportedPolicyError,
  type ChannelMap,
  type ContractCall,
  type EvaluateOptions,
  type FabricClient,
} from '@sealgate/ledger-fabric';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import {
  ContractRefusal,
  UnreadableAnswerError,
  type AssetLedger,
  type NewAsset,
  type SettleOutcome,
  type WriteOutcome,
} from '../domain/asset-ledger.ts';
import type { ChannelTrustPorts } from '../domain/channel-trust.ts';
import { endorsersOf, historyOf, type Mappings, type Target } from '../domain/mapping.ts';
import { contractMessage } from './contract-texts.ts';
import {
  changesIn,
  contractWords,
  historyArguments,
  MissingMemberError,
  type ContractWords,
} from './contract-words.ts';
import { fabricJobs, workOf } from './fabric-jobs.ts';

interface FabricAssetsOptions {
  readonly client: FabricClient;
  /** Maps our channels to Fabric channels. */
  readonly channels: ChannelMap;
  /** How long `settle` waits for an unknown outcome. */
  readonly settleWithinMs: number;
  /** The name of the identity that signs; default: that of the connection. */
  readonly identity?: string;
}

/** Assets through the gateway of a Fabric network, in the contracts they are mapped to. */
export function fabricAssets(options: FabricAssetsOptions): AssetLedger {
  const { client, channels, settleWithinMs, identity } = options;
  const signed = (target: Target, call: Call): ContractCall => ({ ...contractCall(channels, target, call), identity });
  const wordsOf = (target: Target): ContractWords => contractWords(target, channels.of(target.channel));
  const evaluate = async (target: Target, { mayBeOutdated, ...call }: Call & Required<Outdated>): Promise<Buffer> => {
    return reached(client.evaluate(signed(target, call), { mayBeOutdated }));
  };
  const { committed, recall, writtenElsewhere } = fabricJobs({ client, settleWithinMs, wordsOf });
  return {
    as: (name) => fabricAssets({ ...options, identity: name }),
    takesMany: (target) => wordsOf(target).takesMany,
    recall,
    async write(target, assets, jobId) {
      const words = wordsOf(target);
      const organizations = endorsersOf(target, assets[0]?.action);
      try {
        const call = signed(target, { ...words.writeCall(assets), organizations });
        return await committed(target, assets, await client.submit(call, workOf(jobId, target, assets)));
      } catch (error) {
        if (error instanceof ClaimTakenError && jobId !== undefined) return writtenElsewhere(target, assets, jobId);
        if (error instanceof InvalidatedError) {
          return invalidated(error, organizations !== undefined || assets[0]?.transient !== undefined);
        }
        return failureOf(error, words, assets);
      }
    },
    async settle(target, assets, transactionId): Promise<SettleOutcome> {
      try {
        const known = await client.settle(transactionId, { waitMs: settleWithinMs });
        // Not journalled, or not yet by a process that waits for its database: once withdrawn, it is never sent.
        const mayBeUnsent = known === undefined || known.status === 'refused';
        const isNeverSent =
          mayBeUnsent && (await client.withdraw(transactionId, channels.of(target.channel).fabricChannel));
        if (isNeverSent || known?.status === 'invalid') return { outcome: 'again' };
        if (known === undefined || known.status === 'unknown') return { outcome: 'unknown', transactionId };
        if (known.status === 'committed') return await committed(target, assets, known);
        return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message: NOT_ORDERED, retryable: false };
      } catch (error) {
        if (error instanceof UnavailableError) return { outcome: 'unavailable' };
        throw error;
      }
    },
    async read(target, id) {
      const words = wordsOf(target);
      try {
        const call = {
          ...{ transaction: target.transactions.read, args: words.readArguments(id) },
          ...keepersOf(target, 'read'),
        };
        // Only what is written once, and found, is the same in later blocks.
        const isFinal = target.shape.kind === 'records' && target.write === 'create';
        const mayBeOutdated = (answer: Buffer | ContractRefusedError): boolean =>
          !isFinal || answer instanceof ContractRefusedError || words.asset(answer) === undefined;
        return words.asset(await evaluate(target, { ...call, mayBeOutdated }));
      } catch (error) {
        if (!(error instanceof ContractRefusedError)) throw error;
        if (words.saysAbsent(error.message)) return undefined;
        throw new ContractRefusal(contractMessage(error.message), { cause: error });
      }
    },
    prove: proverOf(options),
    history: historyReader(wordsOf, evaluate),
    async query(target, query) {
      const words = wordsOf(target);
      try {
        const { query: transaction } = target.transactions;
        assert(transaction !== undefined, 'A mapping without a query is not asked.');
        const call = { transaction, args: words.queryArguments(query), ...keepersOf(target, 'query') };
        return words.page(await evaluate(target, { ...call, mayBeOutdated: () => true }), query);
      } catch (error) {
        if (!(error instanceof ContractRefusedError)) throw error;
        throw new ContractRefusal(contractMessage(error.message), { cause: error });
      }
    },
  };
}

function historyReader(
  wordsOf: (target: Target) => ContractWords,
  evaluate: (target: Target, call: Call & Required<Outdated>) => Promise<Buffer>,
): NonNullable<AssetLedger['history']> {
  return async (target, id) => {
    const mapped = historyOf(target);
    assert(mapped !== undefined, 'A mapping without a history is not asked.');
    try {
      const call = { transaction: mapped.transaction, args: historyArguments(mapped, id) };
      return changesIn(await evaluate(target, { ...call, mayBeOutdated: () => true }));
    } catch (error) {
      if (!(error instanceof ContractRefusedError)) throw error;
      if (wordsOf(target).saysAbsent(error.message)) return undefined;
      throw new ContractRefusal(contractMessage(error.message), { cause: error });
    }
  };
}

/** A proof of a record of our contract, by the organisations that endorse the writes of its mapping. */
function proverOf({ client, channels, identity }: FabricAssetsOptions): NonNullable<AssetLedger['prove']> {
  return async (target, id, { withBlock }) => {
    const { channel, chaincode, contract, endorsers } = target;
    const place = { channel, chaincode, id, ...defined({ contract, organizations: endorsers, identity }) };
    const asking = proveFabricRecord({ client, channels }, place, { withBlock });
    const proved = await reached(asking).catch((error: unknown) => {
      if (!(error instanceof ContractRefusedError)) throw error;
      throw new ContractRefusal(contractMessage(error.message), { cause: error });
    });
    if (proved === undefined) return undefined;
    const { answer, receipt, proof } = proved;
    const found = contractWords(target, channels.of(channel)).asset(answer);
    return found && { ...found, receipt, proof };
  };
}

/** The organisations and policies of a channel, as a peer knows them. */
export function trustReader(client: FabricClient, channels: ChannelMap): ChannelTrustPorts['readTrust'] {
  return async (channel, chaincodes) => {
    try {
      return await reached(readChannelTrust(client, channels.of(channel).fabricChannel, chaincodes));
    } catch (error) {
      if (error instanceof ContractRefusedError)
        throw new ContractRefusal(contractMessage(error.message), { cause: error });
      if (error instanceof UnsupportedPolicyError) throw new UnreadableAnswerError(error.message, { cause: error });
      throw error;
    }
  };
}

/** @throws ContractRefusedError, and LedgerUnavailableError in place of other errors of the network. */
export async function reached<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ContractRefusedError || !(error instanceof FabricError)) throw error;
    throw new LedgerUnavailableError('The ledger cannot be reached.', { cause: error });
  }
}

/** A read that says whether a contract answers, and the types whose mappings have it. */
export interface Probe {
  readonly call: ContractCall;
  readonly types: readonly string[];
}

/**
 * Health probes of the mappings: each reads an asset id that is unlikely to exist. One call for each contract and read
 * transaction of a channel.
 */
export function probesOf(channels: ChannelMap, mappings: Mappings): Probe[] {
  const probes = mappings.targets.map((target) => {
    const args = contractWords(target, channels.of(target.channel)).readArguments('health');
    const read = { transaction: target.transactions.read, args, ...keepersOf(target, 'read') };
    return { call: contractCall(channels, target, read), types: mappings.typesOf(target) };
  });
  const placeOf = ({ call: { channel, chaincode, contract, transaction, organizations, isPrivate } }: Probe) =>
    JSON.stringify([channel, chaincode, contract, transaction, organizations, isPrivate]);
  return [...Map.groupBy(probes, placeOf).values()].map((same) => ({
    call: same[0]!.call,
    types: same.flatMap(({ types }) => types),
  }));
}

/** The health of the contracts, each with the types that need it. */
export async function healthOf(client: Pick<FabricClient, 'health'>, probes: readonly Probe[]) {
  const { contracts, ...health } = await client.health(probes.map(({ call }) => call));
  return { ...health, contracts: contracts.map((contract, at) => ({ types: probes[at]!.types, ...contract })) };
}

function contractCall(
  channels: ChannelMap,
  { channel, chaincode, contract }: Target,
  { organizations, transient, ...call }: Call,
): ContractCall {
  const { fabricChannel } = channels.of(channel);
  return { channel: fabricChannel, chaincode, ...defined({ contract, organizations, transient }), ...call };
}

type Call = Pick<ContractCall, 'transaction' | 'args' | 'isPrivate'> & {
  readonly [Name in 'organizations' | 'transient']?: ContractCall[Name] | undefined;
};

/** Fabric's name of the collection that an organisation has by itself. */
const IMPLICIT = /^_implicit_org_(.+)$/;

/** Who has the collection of a call: of an implicit one its organisation, of another one at least our own. */
function keepersOf({ shape }: Target, call: 'read' | 'query'): Pick<ContractCall, 'organizations' | 'isPrivate'> {
  const collection = shape.kind === 'positional' ? shape.collections[call] : undefined;
  if (collection === undefined) return {};
  const [, mspId] = IMPLICIT.exec(collection) ?? [];
  return mspId === undefined ? { isPrivate: true } : { organizations: [mspId] };
}

const NOT_ORDERED = 'The network did not order the transaction; nothing was written.';

type Outdated = Pick<EvaluateOptions, 'mayBeOutdated'>;

/** Endorsers that the mapping has chosen, and not Fabric's discovery, will not satisfy the policy another time either. */
function invalidated({ code, transactionId }: InvalidatedError, areEndorsersMapped: boolean): WriteOutcome {
  const isMapping = areEndorsersMapped && code === 'ENDORSEMENT_POLICY_FAILURE';
  const why = isMapping ? ': the endorsers that the mapping names do not satisfy an endorsement policy' : '';
  const message = `Transaction ${transactionId} is in a block but invalid (${code})${why}; nothing was written.`;
  return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message, retryable: !isMapping };
}

function failureOf(error: unknown, words: ContractWords, assets: readonly NewAsset[]): WriteOutcome {
  if (error instanceof ContractRefusedError) return { outcome: 'refused', ...words.refusal(error.message, assets) };
  if (error instanceof MissingMemberError) {
    return { outcome: 'refused', code: 'INVALID_REQUEST', message: error.message, id: error.assetId };
  }
  if (error instanceof UnknownOutcomeError) return { outcome: 'unknown', transactionId: error.transactionId };
  if (error instanceof UnavailableError || error instanceof LedgerUnavailableError) return { outcome: 'unavailable' };
  if (error instanceof OverloadedError) return { outcome: 'overloaded' };
  if (error instanceof MisconfiguredError) {
    const why = error.reason === undefined ? '' : `: ${FABRIC_REASONS[error.reason]}`;
    const message = `The network does not accept this transaction as mapped${why}; nothing was written.`;
    // Retrying does not help until an operator fixes the mapping, the connection file or the network.
    return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message, retryable: false };
  }
  throw error;
}

import { sha256 } from '@sealgate/json';
import {
  ContractRefusedError,
  FABRIC_REASONS,
  FabricError,
  InvalidatedError,
  MisconfiguredError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
  type ChannelMap,
  type Committed,
  type ContractCall,
  type FabricClient,
  type Settlement,
} from '@sealgate/ledger-fabric';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import type { AssetLedger, NewAsset, SettleOutcome, WriteOutcome, WrittenTransaction } from '../domain/asset-ledger.ts';
import type { Target } from '../domain/mapping.ts';
import { contractWords, MissingMemberError, type ContractWords } from './contract-words.ts';

export interface FabricAssetsOptions {
  readonly client: FabricClient;
  /** Maps our channels to Fabric channels. */
  readonly channels: ChannelMap;
  /** How long `settle` waits for an unknown outcome. */
  readonly settleWithinMs: number;
}

/** Assets through the gateway of a Fabric network, in the contracts they are mapped to. */
export function fabricAssets({ client, channels, settleWithinMs }: FabricAssetsOptions): AssetLedger {
  const wordsOf = (target: Target): ContractWords => contractWords(target, channels.of(target.channel));
  const callOf = (target: Target, transaction: string, args: readonly string[]): ContractCall =>
    contractCall(channels, target, { transaction, args });
  const evaluate = async (target: Target, transaction: string, args: readonly string[]): Promise<Buffer> => {
    try {
      return await client.evaluate(callOf(target, transaction, args));
    } catch (error) {
      if (error instanceof ContractRefusedError || !(error instanceof FabricError)) throw error;
      throw new LedgerUnavailableError('The ledger cannot be reached.', { cause: error });
    }
  };
  const committed = async (target: Target, assets: readonly NewAsset[], done: Committed): Promise<WriteOutcome> => {
    const receipts = wordsOf(target).receipts(done.result, assets);
    return { outcome: 'committed', transactions: await transactionsOf(client, done, receipts) };
  };
  /** Outcome of what an earlier run of a job has sent of these assets; undefined if none of it can be in the ledger. */
  const sentBefore = async (target: Target, assets: readonly NewAsset[], reference: string) => {
    for (const earlier of await client.find(reference)) {
      // A transaction that has just ended may not be recorded as ended yet.
      const { transactionId } = earlier;
      const isOpen = earlier.status === 'unknown';
      const known = isOpen ? await client.settle(transactionId, { waitMs: settleWithinMs }) : earlier;
      if (known?.status === 'committed') return committed(target, assets, known);
      if (known?.status === 'unknown') return { outcome: 'unknown', transactionId } as const;
    }
    return undefined;
  };
  return {
    takesMany: (target) => wordsOf(target).takesMany,
    async write(target, assets, jobId) {
      const words = wordsOf(target);
      try {
        const reference = jobId === undefined ? undefined : referenceOf(jobId, assets);
        const before = reference === undefined ? undefined : await sentBefore(target, assets, reference);
        if (before !== undefined) return before;
        const call = callOf(target, target.transactions.write, words.writeArguments(assets));
        return await committed(target, assets, await client.submit(call, reference === undefined ? {} : { reference }));
      } catch (error) {
        return failureOf(error, words);
      }
    },
    async settle(target, assets, transactionId): Promise<SettleOutcome> {
      let settled: Settlement | undefined;
      try {
        settled = await client.settle(transactionId, { waitMs: settleWithinMs });
      } catch (error) {
        if (error instanceof UnavailableError) return { outcome: 'unavailable' };
        throw error;
      }
      // A transaction missing in the journal was settled long ago, or never sent.
      if (settled === undefined || settled.status === 'invalid') return { outcome: 'again' };
      if (settled.status === 'unknown') return { outcome: 'unknown', transactionId };
      if (settled.status === 'committed') return committed(target, assets, settled);
      return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message: NOT_ORDERED, retryable: false };
    },
    async read(target, id) {
      const words = wordsOf(target);
      try {
        return words.asset(await evaluate(target, target.transactions.read, words.readArguments(id)));
      } catch (error) {
        if (!(error instanceof ContractRefusedError)) throw error;
        if (words.saysAbsent(error.message)) return undefined;
        throw new LedgerUnavailableError('The contract rejected the read.', { cause: error });
      }
    },
    async query(target, query) {
      const words = wordsOf(target);
      try {
        return words.page(await evaluate(target, target.transactions.query, words.queryArguments(query)), query);
      } catch (error) {
        if (!(error instanceof ContractRefusedError)) throw error;
        throw new LedgerUnavailableError('The contract rejected the query.', { cause: error });
      }
    },
  };
}

/**
 * Health probes of the targets: each reads an asset id that is unlikely to exist. One call for each contract and read
 * transaction of a channel.
 */
export function probesOf(channels: ChannelMap, targets: readonly Target[]): ContractCall[] {
  const probes = targets.map((target) => {
    const args = contractWords(target, channels.of(target.channel)).readArguments('health');
    return contractCall(channels, target, { transaction: target.transactions.read, args });
  });
  const placeOf = ({ channel, chaincode, contract, transaction }: ContractCall) =>
    JSON.stringify([channel, chaincode, contract, transaction]);
  return [...new Map(probes.map((call) => [placeOf(call), call])).values()];
}

function contractCall(
  channels: ChannelMap,
  { channel, chaincode, contract }: Target,
  call: Pick<ContractCall, 'transaction' | 'args'>,
): ContractCall {
  const { fabricChannel } = channels.of(channel);
  return { channel: fabricChannel, chaincode, ...(contract === undefined ? {} : { contract }), ...call };
}

const NOT_ORDERED = 'The network did not order the transaction; nothing was written.';

/** Derived from the assets of a job: equal in every process that runs it. */
function referenceOf(jobId: string, assets: readonly NewAsset[]): string {
  const ids = sha256(JSON.stringify(assets.map(({ id }) => id))).toString('base64url');
  return `${jobId}:${ids}`;
}

/** Existing assets show the transaction that wrote them, with its block while the journal has it. */
async function transactionsOf(
  client: FabricClient,
  { transactionId, blockNumber }: Committed,
  receipts: readonly { readonly id: string; readonly transactionId: string | undefined }[],
): Promise<WrittenTransaction[]> {
  const groups = Map.groupBy(receipts, (receipt) => receipt.transactionId ?? transactionId);
  return Promise.all(
    [...groups].map(async ([of, its]) => {
      const assetIds = its.map(({ id }) => id);
      if (of === transactionId) return { transactionId, blockNumber, assetIds };
      const earlier = await client.settle(of).catch(() => undefined);
      return { transactionId: of, blockNumber: earlier?.status === 'committed' ? earlier.blockNumber : null, assetIds };
    }),
  );
}

function failureOf(error: unknown, words: ContractWords): WriteOutcome {
  if (error instanceof ContractRefusedError) return { outcome: 'refused', ...words.refusal(error.message) };
  if (error instanceof MissingMemberError) {
    return { outcome: 'refused', code: 'INVALID_REQUEST', message: error.message, id: error.assetId };
  }
  if (error instanceof UnknownOutcomeError) return { outcome: 'unknown', transactionId: error.transactionId };
  if (error instanceof UnavailableError || error instanceof LedgerUnavailableError) return { outcome: 'unavailable' };
  if (error instanceof OverloadedError) return { outcome: 'overloaded' };
  if (error instanceof InvalidatedError) {
    const message = `The transaction is in a block but invalid (${error.code}); nothing was written.`;
    return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message, retryable: true };
  }
  if (error instanceof MisconfiguredError) {
    const why = error.reason === undefined ? '' : `: ${FABRIC_REASONS[error.reason]}`;
    const message = `The network does not accept this transaction as mapped${why}; nothing was written.`;
    // Retrying does not help until an operator fixes the mapping, the connection file or the network.
    return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message, retryable: false };
  }
  throw error;
}

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
  /** Which Fabric channel holds which of ours. */
  readonly channels: ChannelMap;
  /** How long `settle` waits for what is not known yet. */
  readonly settleWithinMs: number;
}

/** Assets through the gateway of a Fabric network, onto whichever contract is mapped for them. */
export function fabricAssets({ client, channels, settleWithinMs }: FabricAssetsOptions): AssetLedger {
  const wordsOf = (target: Target): ContractWords => contractWords(target, channels.of(target.channel));
  const callOf = (target: Target, transaction: string, args: readonly string[]): ContractCall =>
    contractCall(channels, target, { transaction, args });
  const evaluate = async (target: Target, transaction: string, args: readonly string[]): Promise<Buffer> => {
    try {
      return await client.evaluate(callOf(target, transaction, args));
    } catch (error) {
      if (error instanceof ContractRefusedError || !(error instanceof FabricError)) throw error;
      throw new LedgerUnavailableError('The ledger cannot be asked.', { cause: error });
    }
  };
  const committed = async (target: Target, assets: readonly NewAsset[], done: Committed): Promise<WriteOutcome> => {
    const receipts = wordsOf(target).receipts(done.result, assets);
    return { outcome: 'committed', transactions: await transactionsOf(client, done, receipts) };
  };
  /** What an earlier run of a job has sent of these assets: undefined where nothing of it can be in the ledger. */
  const sentBefore = async (target: Target, assets: readonly NewAsset[], reference: string) => {
    for (const earlier of await client.find(reference)) {
      // What ended a moment ago may not be written down as ended yet.
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
      // What the journal does not know was settled long ago, or never sent.
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
        throw new LedgerUnavailableError('The contract refused to be read.', { cause: error });
      }
    },
    async query(target, query) {
      const words = wordsOf(target);
      try {
        return words.page(await evaluate(target, target.transactions.query, words.queryArguments(query)), query);
      } catch (error) {
        if (!(error instanceof ContractRefusedError)) throw error;
        throw new LedgerUnavailableError('The contract refused to be queried.', { cause: error });
      }
    },
  };
}

/** What a look at the health of a target asks: for an asset that is hardly there. One call for each contract on a channel and transaction of it that reads. */
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

/** The same for the same assets of a job, whatever process runs it. */
function referenceOf(jobId: string, assets: readonly NewAsset[]): string {
  const ids = sha256(JSON.stringify(assets.map(({ id }) => id))).toString('base64url');
  return `${jobId}:${ids}`;
}

/** What was there before shows the transaction that wrote it, with its block as long as our journal remembers it. */
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
    const message = `The transaction is in a block and without effect (${error.code}); nothing was written.`;
    return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message, retryable: true };
  }
  if (error instanceof MisconfiguredError) {
    const why = error.reason === undefined ? '' : `: ${FABRIC_REASONS[error.reason]}`;
    const message = `The network does not take this transaction as it is mapped here${why}; nothing was written.`;
    // The same request fares no better until an operator has mended the mapping, the connection file or the network.
    return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message, retryable: false };
  }
  throw error;
}

import { sha256 } from '@sealgate/json';
import {
  ClaimTakenError,
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
  type EvaluateOptions,
  type FabricClient,
  type SentTransaction,
  type Settlement,
  type SubmitOptions,
} from '@sealgate/ledger-fabric';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import type {
  AssetLedger,
  JobPart,
  NewAsset,
  SettleOutcome,
  WriteOutcome,
  WrittenTransaction,
} from '../domain/asset-ledger.ts';
import type { AssetResult } from '../domain/asset-result.ts';
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
  const evaluate = async (
    target: Target,
    { transaction, args, mayBeOutdated }: Pick<ContractCall, 'transaction' | 'args'> & Required<Outdated>,
  ): Promise<Buffer> => {
    try {
      return await client.evaluate(contractCall(channels, target, { transaction, args }), { mayBeOutdated });
    } catch (error) {
      if (error instanceof ContractRefusedError || !(error instanceof FabricError)) throw error;
      throw new LedgerUnavailableError('The ledger cannot be reached.', { cause: error });
    }
  };
  const committed = async (target: Target, assets: readonly NewAsset[], done: Committed): Promise<CommittedOutcome> => {
    const receipts = receiptsOf(wordsOf(target), assets, done);
    return { outcome: 'committed', transactions: await transactionsOf(client, done, receipts) };
  };
  /** A transaction that is known to be sent: what cannot be asked now stays pending. */
  const settled = async (transactionId: string): Promise<Settlement> =>
    (await client.settle(transactionId, { waitMs: settleWithinMs }).catch(unlessUnavailable)) ?? {
      status: 'unknown',
      transactionId,
    };
  /** The results of one transaction of a job, for those of the assets that it contains. */
  const resultsOf = async ({ target, assets }: JobPart, { settlement, note }: SentTransaction): Promise<Told[]> => {
    const marks = new Set(note === undefined ? [] : note.split(' '));
    const its = assets.filter(({ id }) => marks.has(markOf(target, id)));
    if (its.length === 0) return [];
    const { transactionId } = settlement;
    const known = settlement.status === 'unknown' ? await settled(transactionId) : settlement;
    if (known.status === 'committed') return succeededResults(target, await committed(target, its, known));
    if (known.status === 'unknown') return its.map(({ id }) => [id, { state: 'pending', transactionId }] as const);
    return [];
  };
  const recall = async (jobId: string, parts: readonly JobPart[]) => {
    const sent = await client.findGroup(jobId).catch((error: unknown): never => {
      if (!(error instanceof UnavailableError)) throw error;
      throw new LedgerUnavailableError('It cannot be asked what was sent.', { cause: error });
    });
    return Promise.all(
      parts.map(
        async (part) =>
          new Map<string, AssetResult>((await Promise.all(sent.map((one) => resultsOf(part, one)))).flat()),
      ),
    );
  };
  /** Another process runs the same job, and has sent the same assets. */
  const writtenElsewhere = async (
    target: Target,
    assets: readonly NewAsset[],
    jobId: string,
  ): Promise<WriteOutcome> => {
    const results = await recall(jobId, [{ target, assets }]).catch(unlessUnavailable);
    const each = assets.map(({ id }) => results?.[0]?.get(id));
    const open = each.find((result) => result?.state === 'pending');
    if (open?.state === 'pending') return { outcome: 'unknown', transactionId: open.transactionId };
    const transactions = each.flatMap((result, at) =>
      result?.state === 'succeeded' ? [{ ...result.transaction, assetIds: [assets[at]!.id] }] : [],
    );
    return transactions.length === assets.length ? { outcome: 'committed', transactions } : { outcome: 'unsure' };
  };
  return {
    takesMany: (target) => wordsOf(target).takesMany,
    recall,
    async write(target, assets, jobId) {
      const words = wordsOf(target);
      try {
        const call = callOf(target, target.transactions.write, words.writeArguments(assets));
        return await committed(target, assets, await client.submit(call, workOf(jobId, target, assets)));
      } catch (error) {
        if (error instanceof ClaimTakenError && jobId !== undefined) return writtenElsewhere(target, assets, jobId);
        return failureOf(error, words);
      }
    },
    async settle(target, assets, transactionId): Promise<SettleOutcome> {
      try {
        const known = await client.settle(transactionId, { waitMs: settleWithinMs });
        // Not journalled, or not yet by a process that waits for its database: once withdrawn, it is never sent.
        const isNeverSent =
          known === undefined && (await client.withdraw(transactionId, channels.of(target.channel).fabricChannel));
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
        const call = { transaction: target.transactions.read, args: words.readArguments(id) };
        // Only what is written once, and found, is the same in later blocks.
        const isFinal = target.shape.kind === 'records' && target.write === 'create';
        const mayBeOutdated = (answer: Buffer | ContractRefusedError): boolean =>
          !isFinal || answer instanceof ContractRefusedError || words.asset(answer) === undefined;
        return words.asset(await evaluate(target, { ...call, mayBeOutdated }));
      } catch (error) {
        if (!(error instanceof ContractRefusedError)) throw error;
        if (words.saysAbsent(error.message)) return undefined;
        throw new LedgerUnavailableError('The contract rejected the read.', { cause: error });
      }
    },
    async query(target, query) {
      const words = wordsOf(target);
      try {
        const call = { transaction: target.transactions.query, args: words.queryArguments(query) };
        return words.page(await evaluate(target, { ...call, mayBeOutdated: () => true }), query);
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

const MARK_LENGTH = 12;

/** An asset in the note of a transaction: short, because a batch has hundreds; 72 bits tell those of one job apart. */
function markOf({ channel, chaincode }: Target, id: string): string {
  return sha256(JSON.stringify([channel, chaincode, id]))
    .toString('base64url')
    .slice(0, MARK_LENGTH);
}

/** The journal's names of a write: equal in every process that runs the job, and telling its assets. */
function workOf(jobId: string | undefined, target: Target, assets: readonly NewAsset[]): SubmitOptions {
  if (jobId === undefined) return {};
  const note = assets.map(({ id }) => markOf(target, id)).join(' ');
  return { reference: `${jobId}:${sha256(note).toString('base64url')}`, note };
}

function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof UnavailableError) && !(error instanceof LedgerUnavailableError)) throw error;
}

type Outdated = Pick<EvaluateOptions, 'mayBeOutdated'>;

/** The id of an asset, and its result. */
type Told = readonly [string, AssetResult];

type CommittedOutcome = Extract<WriteOutcome, { readonly outcome: 'committed' }>;

function succeededResults({ channel, chaincode }: Target, { transactions }: CommittedOutcome): Told[] {
  return transactions.flatMap(({ transactionId, blockNumber, assetIds }) => {
    const transaction = { transactionId, blockNumber, channel, chaincode };
    return assetIds.map((id) => [id, { state: 'succeeded', transaction }] as const);
  });
}

/** What is in a block is written, whatever the contract returned for it. */
function receiptsOf(words: ContractWords, assets: readonly NewAsset[], { result }: Committed) {
  const all = assets.map(({ id }) => ({ id, transactionId: undefined }));
  let named: ReturnType<ContractWords['receipts']>;
  try {
    named = words.receipts(result, assets);
  } catch {
    return all;
  }
  const byId = new Map(named.map((receipt) => [receipt.id, receipt]));
  return all.map((receipt) => byId.get(receipt.id) ?? receipt);
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

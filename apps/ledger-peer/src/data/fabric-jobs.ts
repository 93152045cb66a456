import { sha256 } from '@sealgate/json';
import {
  UnavailableError,
  type Committed,
  type FabricClient,
  type SentTransaction,
  type Settlement,
  type SubmitOptions,
} from '@sealgate/ledger-fabric';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import type { AssetLedger, JobPart, NewAsset, WriteOutcome } from '../domain/asset-ledger.ts';
import { succeededResults, type AssetResult, type WrittenTransaction } from '../domain/asset-result.ts';
import type { Target } from '../domain/mapping.ts';
import type { ContractWords } from './contract-words.ts';

interface FabricJobs extends Pick<AssetLedger, 'recall'> {
  committed(target: Target, assets: readonly NewAsset[], done: Committed): Promise<CommittedOutcome>;
  /** Another process runs the same job, and has sent the same assets. */
  writtenElsewhere(target: Target, assets: readonly NewAsset[], jobId: string): Promise<WriteOutcome>;
}

/** What the transactions of a job have written, by any process, as the journal tells. */
export function fabricJobs({
  client,
  settleWithinMs,
  wordsOf,
}: {
  readonly client: FabricClient;
  readonly settleWithinMs: number;
  readonly wordsOf: (target: Target) => ContractWords;
}): FabricJobs {
  const committed = async (target: Target, assets: readonly NewAsset[], done: Committed): Promise<CommittedOutcome> => {
    const words = wordsOf(target);
    const returned = words.returned(done.result, assets);
    const transactions = await transactionsOf(client, done, receiptsOf(words, assets, done));
    return {
      outcome: 'committed',
      transactions: transactions.map((one) => (one.transactionId === done.transactionId ? { ...one, returned } : one)),
    };
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
    const its = assets.filter((asset) => marks.has(markOf(target, asset)));
    if (its.length === 0) return [];
    const { transactionId } = settlement;
    const known = settlement.status === 'unknown' ? await settled(transactionId) : settlement;
    if (known.status === 'committed') {
      const { transactions } = await committed(target, its, known);
      return transactions.flatMap((transaction) => succeededResults(target, transaction));
    }
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
      result?.state === 'succeeded'
        ? [{ ...result.transaction, assetIds: [assets[at]!.id], returned: result.returned }]
        : [],
    );
    return transactions.length === assets.length ? { outcome: 'committed', transactions } : { outcome: 'unsure' };
  };
  return { committed, recall, writtenElsewhere };
}

const MARK_LENGTH = 12;

/** An asset in the note of a transaction: short, because a batch has hundreds; 72 bits tell those of one job apart. */
function markOf({ channel, chaincode }: Target, { id, action }: NewAsset): string {
  return sha256(JSON.stringify([channel, chaincode, id, ...(action === undefined ? [] : [action])]))
    .toString('base64url')
    .slice(0, MARK_LENGTH);
}

/** The journal's names of a write: equal in every process that runs the job, and telling its assets. */
export function workOf(jobId: string | undefined, target: Target, assets: readonly NewAsset[]): SubmitOptions {
  if (jobId === undefined) return {};
  const note = assets.map((asset) => markOf(target, asset)).join(' ');
  return { reference: `${jobId}:${sha256(note).toString('base64url')}`, note };
}

function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof UnavailableError) && !(error instanceof LedgerUnavailableError)) throw error;
}

/** The id of an asset, and its result. */
type Told = readonly [string, AssetResult];

type CommittedOutcome = Extract<WriteOutcome, { readonly outcome: 'committed' }>;

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

import type { AssetResult, CommittedTransaction, ContractResult } from './asset-result.ts';

interface ShownTransaction extends CommittedTransaction {
  /** As JSON texts. */
  readonly ids: Set<string>;
}

/**
 * The response of a write as JSON text. Not by JSON.stringify, because each id is needed twice and everything else is
 * hex, numbers and names; a test compares the two.
 *
 * @param results one for each asset of the request.
 * @param jobId of a response with pending assets.
 */
export function renderSummary(ids: readonly string[], results: readonly AssetResult[], jobId?: string): string {
  const succeeded: string[] = [];
  const failed: string[] = [];
  const pending: string[] = [];
  const transactions = new Transactions();
  /** By what was returned, so that an asset repeated in the request is listed once. */
  const returned = new Map<ContractResult, string>();
  results.forEach((result, index) => {
    const id = JSON.stringify(ids[index]);
    if (result.state === 'succeeded') {
      succeeded.push(id);
      transactions.list(result.transaction, id);
      if (result.returned !== undefined) returned.set(result.returned, renderReturn(id, result.returned));
    } else if (result.state === 'pending') {
      pending.push(`{"id":${id},"index":${index},"transactionId":"${result.transactionId}"}`);
    } else {
      const { code, message, retryable, contractMessage } = result;
      const words = contractMessage === undefined ? '' : `,"contractMessage":${JSON.stringify(contractMessage)}`;
      failed.push(
        `{"id":${id},"index":${index},"code":"${code}","message":${JSON.stringify(message)},"retryable":${retryable}${words}}`,
      );
    }
  });
  const shown = transactions.all;
  const counts = `"total":${ids.length},"succeeded":${succeeded.length},"failed":${failed.length},"pending":${pending.length}`;
  const transactionIds = new Set(shown.map(({ transactionId }) => `"${transactionId}"`));
  const listed = returned.size === 0 ? '' : `,"results":[${[...returned.values()].join(',')}]`;
  return (
    `{"summary":{${counts}},"succeeded":[${succeeded.join(',')}],"failed":[${failed.join(',')}],` +
    `"pending":[${pending.join(',')}],"transactionIds":[${[...transactionIds].join(',')}],` +
    `"transactions":[${shown.map(renderTransaction).join(',')}]${listed}${jobId === undefined ? '' : `,"jobId":"${jobId}"`}}`
  );
}

/** The transactions of a response, each with its assets once, also for an asset repeated in the request. */
class Transactions {
  readonly #shown = new Map<string, ShownTransaction>();
  /** Results of one write share their transaction object, so most are found without building the name. */
  readonly #known = new Map<CommittedTransaction, ShownTransaction>();

  list(transaction: CommittedTransaction, id: string): void {
    const shown = this.#known.get(transaction) ?? this.#find(transaction);
    shown.ids.add(id);
  }

  get all(): ShownTransaction[] {
    return [...this.#shown.values()];
  }

  #find(transaction: CommittedTransaction): ShownTransaction {
    const { channel, chaincode, transactionId } = transaction;
    const name = `${channel} ${chaincode} ${transactionId}`;
    const shown = this.#shown.get(name) ?? { ...transaction, ids: new Set<string>() };
    this.#shown.set(name, shown);
    this.#known.set(transaction, shown);
    return shown;
  }
}

function renderTransaction({ transactionId, channel, chaincode, blockNumber, ids }: ShownTransaction): string {
  return `{"transactionId":"${transactionId}","channel":"${channel}","chaincode":"${chaincode}","blockNumber":${blockNumber},"assetIds":[${[...ids].join(',')}]}`;
}

function renderReturn(id: string, { json, truncated }: ContractResult): string {
  return `{"id":${id},"result":${json}${truncated ? ',"truncated":true' : ''}}`;
}

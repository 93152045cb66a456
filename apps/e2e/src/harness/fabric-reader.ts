import { connectClient, type PeerAddress } from '@sealgate/testing/fabric';

/** A record as the contract `records` stores it. */
export interface KeptRecord {
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  /** Canonical JSON, or its parsed value, as the contract returns it. */
  readonly data: unknown;
  /** Likewise. */
  readonly extra: unknown;
  readonly version: number;
  readonly transactionId: string;
}

/** Reads the state of a channel by the SDK only, by Fabric's own addresses; none of our code is involved. */
export interface LedgerReader {
  /** Every record of `records` whose id has the prefix, by its id. */
  list(channel: string, idPrefix: string): Promise<ReadonlyMap<string, KeptRecord>>;
  /** Every version of one record, oldest first. */
  history(channel: string, id: string): Promise<readonly KeptRecord[]>;
  /** The answer of another contract; undefined where it refuses. */
  evaluate(channel: string, call: ReaderCall): Promise<unknown>;
  close(): void;
}

interface ReaderCall {
  readonly chaincode: string;
  readonly transaction: string;
  readonly args: readonly string[];
}

const PAGE = 1000;
const MOST_PAGES = 1000;
const ANSWER_WITHIN_MS = 20_000;

export function ledgerReader(address: PeerAddress): LedgerReader {
  const { gateway, close } = connectClient(address, {
    evaluateOptions: () => ({ deadline: Date.now() + ANSWER_WITHIN_MS }),
  });
  const ask = async (channel: string, { chaincode, transaction, args }: ReaderCall): Promise<unknown> => {
    const contract = gateway.getNetwork(channel).getContract(chaincode);
    const text = Buffer.from(await contract.evaluateTransaction(transaction, ...args)).toString('utf8');
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  };
  return {
    async list(channel, idPrefix) {
      const found = new Map<string, KeptRecord>();
      for (let bookmark = '', pages = 0; pages < MOST_PAGES; pages += 1) {
        const args = [idPrefix, String(PAGE), bookmark];
        const page = await ask(channel, { chaincode: 'records', transaction: 'list', args });
        const { records, bookmark: next } = page as { records: KeptRecord[]; bookmark: string };
        for (const record of records) found.set(record.id, record);
        if (next === '') return found;
        bookmark = next;
      }
      throw new Error(`The list of ${idPrefix} does not end.`);
    },
    async history(channel, id) {
      const answer = await ask(channel, { chaincode: 'records', transaction: 'history', args: [id] });
      const { versions, complete } = answer as { versions: KeptRecord[]; complete: boolean };
      if (!complete) throw new Error(`The history of ${id} is cut off.`);
      return versions.toReversed();
    },
    evaluate: ask,
    close,
  };
}

import { Context } from 'fabric-contract-api';

type ChaincodeStub = Context['stub'];

interface Change {
  readonly txId: string;
  readonly value: Buffer;
  readonly isDelete: boolean;
}

/**
 * The part of the shim that the contract uses, over a map: keys in the order of their UTF-8 bytes, and writes visible
 * from the next transaction on, as on a peer. Other behaviour is tested on the real shim.
 */
export class MemoryLedger {
  readonly #history = new Map<string, Change[]>();
  #transactions = 0;
  /** The timestamp of the next transactions. */
  time = new Date('2026-03-01T12:00:00.000Z');
  /** Keys written by the last transaction, in order. */
  written: readonly string[] = [];

  /** Runs one transaction; its writes are applied only if it succeeds. Ids are tx-1, tx-2, ... */
  async submit(run: (context: Context) => Promise<string>): Promise<string> {
    this.#transactions += 1;
    const txId = `tx-${this.#transactions}`;
    const writes = new Map<string, Change>();
    const answer = await run(this.#context(txId, writes));
    for (const [key, change] of writes) this.#history.set(key, [...(this.#history.get(key) ?? []), change]);
    this.written = [...writes.keys()];
    return answer;
  }

  keys(): readonly string[] {
    return [...this.#history.keys()].filter((key) => this.#get(key) !== undefined).sort(byUtf8);
  }

  /** Text of a state key. */
  value(key: string): string | undefined {
    return this.#get(key)?.toString('utf8');
  }

  #get(key: string): Buffer | undefined {
    const newest = this.#history.get(key)?.at(-1);
    return newest === undefined || newest.isDelete ? undefined : newest.value;
  }

  #context(txId: string, writes: Map<string, Change>): Context {
    const context = new Context();
    const stub: Partial<ChaincodeStub> = {
      getTxID: () => txId,
      getDateTimestamp: () => this.time,
      getState: (key) => Promise.resolve(this.#get(key) ?? Buffer.alloc(0)),
      putState: (key, value) => {
        writes.set(key, { txId, value: Buffer.from(value), isDelete: false });
        return Promise.resolve();
      },
      deleteState: (key) => {
        writes.set(key, { txId, value: Buffer.alloc(0), isDelete: true });
        return Promise.resolve();
      },
      getStateByRangeWithPagination: ((start: string, end: string, pageSize: number) =>
        results(
          this.keys()
            .filter((key) => byUtf8(key, start) >= 0 && byUtf8(key, end) < 0)
            .slice(0, pageSize)
            .map((key) => ({ key, value: this.#get(key)! })),
        )) as unknown as ChaincodeStub['getStateByRangeWithPagination'],
      getHistoryForKey: ((key: string) =>
        results((this.#history.get(key) ?? []).toReversed())) as unknown as ChaincodeStub['getHistoryForKey'],
    };
    context.stub = stub as ChaincodeStub;
    return context;
  }
}

async function* results<Result>(list: readonly Result[]): AsyncGenerator<Result> {
  yield* list;
}

const byUtf8 = (left: string, right: string) => Buffer.from(left).compare(Buffer.from(right));

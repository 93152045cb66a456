import { canonical, parsed } from './canonical.ts';
import type { LedgerRecord } from './ledger-records.ts';

/** Records that a surface writes for rows of its own, by their ids. */
export class LedgerCopies {
  readonly #records = new Map<string, { readonly data: string | null; count: number }>();

  add({ id, data }: LedgerRecord): void {
    const known = this.#records.get(id) ?? { data, count: 0 };
    known.count += 1;
    this.#records.set(id, known);
  }

  /** Takes the record of a row; says what is wrong with it if it is not there once with the content of the row. */
  breachOf(what: string, id: string, text: string): string | undefined {
    const record = this.#records.get(id);
    this.#records.delete(id);
    if (record === undefined) return `${what} has no record ${id} in the ledger`;
    if (record.count > 1) return `${what} is ${record.count} times in the ledger`;
    if (record.data !== canonical(parsed(text) ?? null)) return `the record ${id} is not the content of ${what}`;
    return undefined;
  }

  /** The ids of those that no row has. */
  get left(): readonly string[] {
    return [...this.#records.keys()];
  }
}

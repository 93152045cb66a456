import type { Line } from '../history.ts';
import type { LedgerRecord } from './ledger-records.ts';
import type { Databases } from './databases.ts';

/** What became of one promise. */
export interface Verdict {
  readonly promise: string;
  /** How many things were looked at: 0 means that nothing was proved. */
  readonly judged: number;
  /** Empty: it was kept. The first breaches in plain words, with the lines of the history, and how many more there are. */
  readonly broken: readonly string[];
  /** The line that broke it first, as far as lines tell, and how long after the beginning that was. */
  readonly firstLine?: number;
  readonly afterSeconds?: number;
}

/** Judges one promise. Gets every line, then every record of every log in its order, then may ask the databases. */
export interface Check {
  line?(line: Line, number: number): void;
  record?(record: LedgerRecord): void;
  close(databases: Databases): Promise<Verdict>;
}

const SHOWN = 20;

/** Collects breaches, and keeps the first. */
export class Findings {
  readonly #promise: string;
  readonly #shown: string[] = [];
  #more = 0;
  #firstLine = Infinity;
  judged = 0;

  constructor(promise: string) {
    this.#promise = promise;
  }

  /** `breach` begins with `line N` or `lines N and M` where lines tell of it. */
  add(breach: string): void {
    const [, one, other = one] = /^lines? (\d+)(?: and (\d+))?/.exec(breach) ?? [];
    if (one !== undefined) this.#firstLine = Math.min(this.#firstLine, Math.max(Number(one), Number(other)));
    if (this.#shown.length < SHOWN) this.#shown.push(breach);
    else this.#more += 1;
  }

  /** Counts one thing as looked at, and adds the breach if there is one. */
  judge(breach: string | undefined | false): void {
    this.judged += 1;
    if (typeof breach === 'string') this.add(breach);
  }

  verdict(): Verdict {
    const more = this.#more === 0 ? [] : [`and ${this.#more} more`];
    const first = this.#firstLine === Infinity ? {} : { firstLine: this.#firstLine };
    return { promise: this.#promise, judged: this.judged, broken: [...this.#shown, ...more], ...first };
  }
}

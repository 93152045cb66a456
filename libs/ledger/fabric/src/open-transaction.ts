import type { Settlement } from './contract-call.ts';

export interface NewOpenTransaction {
  readonly transactionId: string;
  /** Fabric's name. */
  readonly channel: string;
  /** The signed request that submits it; it never changes. */
  readonly request: Buffer;
  /** What it returned, where that is at hand. */
  readonly result?: Uint8Array;
  readonly note?: string | undefined;
}

/** A transaction that is journalled and not settled, and what is to be done about it next, and when. */
export class OpenTransaction {
  readonly transactionId: string;
  readonly channel: string;
  readonly request: Buffer;
  readonly result: Uint8Array | undefined;
  readonly note: string | undefined;
  readonly sinceMs: number;
  /** Resolves with its end; never rejects. */
  readonly settlement: Promise<Settlement>;
  /** Nobody waits for it any more. */
  late = false;
  busy = false;
  /** When an orderer took it last. */
  acknowledgedAtMs: number | undefined;
  /** Left behind by another process, which may have died before it sent anything. */
  maybeUnsent = false;
  /** True once it was sent by other means than its first Submit. */
  sentAgain = false;
  #sending = false;
  #dueAtMs = Number.POSITIVE_INFINITY;
  #pauseMs = 0;
  #settle!: (settlement: Settlement) => void;
  #written: Promise<void> = Promise.resolve();

  constructor(transaction: NewOpenTransaction, sinceMs: number) {
    this.transactionId = transaction.transactionId;
    this.channel = transaction.channel;
    this.request = transaction.request;
    this.result = transaction.result;
    this.note = transaction.note;
    this.sinceMs = sinceMs;
    this.settlement = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** True: the envelope is to be sent again next; false: its status is to be asked for. */
  get sending(): boolean {
    return this.#sending;
  }

  /** Resolves when the end is in the journal. */
  get written(): Promise<void> {
    return this.#written;
  }

  askAt(atMs: number): void {
    this.#sending = false;
    this.#dueAtMs = atMs;
  }

  sendAt(atMs: number): void {
    this.#sending = true;
    this.#dueAtMs = atMs;
  }

  isDue(nowMs: number): boolean {
    return !this.busy && this.#dueAtMs <= nowMs;
  }

  /** Twice the last one, within bounds. */
  nextPauseMs(firstMs: number, longestMs: number): number {
    this.#pauseMs = this.#pauseMs === 0 ? firstMs : Math.min(this.#pauseMs * 2, longestMs);
    return this.#pauseMs;
  }

  settle(settlement: Settlement, written: Promise<void>): void {
    this.#written = written;
    this.#settle(settlement);
  }
}

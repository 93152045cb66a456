import type { Settlement } from './fabric-client.ts';

export interface NewOpenTransaction {
  readonly transactionId: string;
  /** Fabric's name. */
  readonly channel: string;
  /** The signed Submit request; it never changes. */
  readonly request: Buffer;
  /** The endorsed result, if available. */
  readonly result?: Uint8Array;
  readonly note?: string | undefined;
}

/** A journalled, unsettled transaction, with its next step and when that is due. */
export class OpenTransaction {
  readonly transactionId: string;
  readonly channel: string;
  readonly request: Buffer;
  readonly result: Uint8Array | undefined;
  readonly note: string | undefined;
  readonly sinceMs: number;
  /** Resolves with its end; never rejects. */
  readonly settlement: Promise<Settlement>;
  /** No caller waits for it any more. */
  late = false;
  busy = false;
  /** When an orderer last accepted it. */
  acknowledgedAtMs: number | undefined;
  /** Taken over from another process, which may have died before it sent anything. */
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

  /** True: resend the envelope next; false: ask for its status. */
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

  /** Exponential backoff: doubles from `firstMs` up to `longestMs`. */
  nextPauseMs(firstMs: number, longestMs: number): number {
    this.#pauseMs = this.#pauseMs === 0 ? firstMs : Math.min(this.#pauseMs * 2, longestMs);
    return this.#pauseMs;
  }

  settle(settlement: Settlement, written: Promise<void>): void {
    this.#written = written;
    this.#settle(settlement);
  }
}

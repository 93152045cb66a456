import type { Settlement } from './fabric-client.ts';
import type { Ending } from './journal-statements.ts';
import type { Journal } from './journal.ts';

/**
 * Called with the end of a transaction in the turn in which it becomes known; late: its caller got "unknown", or
 * belongs to a process that is gone. The transaction stays open in the journal until the promise has resolved: if this
 * process dies in between, another one calls it again. A rejection is retried.
 */
export type OnSettlement = (
  settlement: Settlement,
  about: { readonly note: string | undefined; readonly isLate: boolean },
) => void | Promise<void>;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Writes endings into the journal, retrying while its database is down. */
export class EndingWriter {
  readonly #journal: Journal;
  readonly #onProblem: (detail: string) => void;
  readonly #writing = new Set<Promise<void>>();
  #closed = false;

  constructor(journal: Journal, onProblem: (detail: string) => void) {
    this.#journal = journal;
    this.#onProblem = onProblem;
  }

  /** Resolves when it is written, or when this process must end first: the next one then determines the same ending. */
  write(ending: Ending, report: () => void | Promise<void>): Promise<void> {
    const written = this.#write(ending, report);
    this.#writing.add(written);
    void written.finally(() => this.#writing.delete(written));
    return written;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#writing);
  }

  async #write(ending: Ending, report: () => void | Promise<void>): Promise<void> {
    let reported = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        if (!reported) await report();
        reported = true;
        return await this.#journal.settle(ending);
      } catch (error) {
        this.#onProblem(String(error));
        if (this.#closed) return;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}

export function settlementOf({ transactionId, status, detail, blockNumber, result }: Ending): Settlement {
  switch (status) {
    case 'committed':
      return { status, transactionId, blockNumber: blockNumber!, result: asBuffer(result!) };
    case 'invalid':
      return { status, transactionId, code: detail!, blockNumber: blockNumber! };
    case 'refused':
      return { status, transactionId, message: detail! };
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

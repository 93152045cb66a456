import { StatusCode } from '@hyperledger/fabric-gateway';
import type { Settlement } from './contract-call.ts';
import type { Ending } from './journal-entry.ts';
import type { Journal } from './journal.ts';

/**
 * Told how a transaction ended, in the turn in which it becomes known; late: its caller was told "unknown", or was left
 * behind by a process that is gone. The journal calls the transaction open until the promise has resolved: so who dies in
 * between leaves it to another process to be told again. A rejection is tried again.
 */
export type OnSettlement = (
  settlement: Settlement,
  about: { readonly note: string | undefined; readonly isLate: boolean },
) => void | Promise<void>;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Brings endings into the journal, however long its database is away: what is known meanwhile is known all the same. */
export class EndingWriter {
  readonly #journal: Journal;
  readonly #onProblem: (detail: string) => void;
  readonly #writing = new Set<Promise<void>>();
  #closed = false;

  constructor(journal: Journal, onProblem: (detail: string) => void) {
    this.#journal = journal;
    this.#onProblem = onProblem;
  }

  /** Resolves when it is in, or when this process must end before: then the next one finds out the same. */
  write(ending: Ending, tell: () => void | Promise<void>): Promise<void> {
    const written = this.#write(ending, tell);
    this.#writing.add(written);
    void written.finally(() => this.#writing.delete(written));
    return written;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#writing);
  }

  async #write(ending: Ending, tell: () => void | Promise<void>): Promise<void> {
    let told = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        if (!told) await tell();
        told = true;
        return await this.#journal.settle(ending);
      } catch (error) {
        this.#onProblem(String(error));
        if (this.#closed) return;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}

const CODE_NAMES = new Map<number, string>(Object.entries(StatusCode).map(([name, code]) => [code, name]));

/** Fabric's own name of a validation code. */
export function nameOfCode(code: number): string {
  return CODE_NAMES.get(code) ?? `CODE_${code}`;
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

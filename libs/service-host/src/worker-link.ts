import assert from 'node:assert/strict';

/** Calls `work` once after `ms`, unless what it returns is called before. */
export type StartTimer = (work: () => void, ms: number) => () => void;

export const startTimer: StartTimer = (work, ms) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};

export interface LinkOptions {
  /** Sends a message to the other process. Never throws: a channel that is closed loses it. */
  readonly send: (message: object) => void;
  /** Answers the questions of the other process, by their names. */
  readonly answers: Readonly<Record<string, () => unknown>>;
  /** What is done on notices of the other process, by their names. */
  readonly notices: Readonly<Record<string, (value: unknown) => void>>;
  readonly startTimer: StartTimer;
}

/** What is sent. Other libraries may use the same channel, so ours carry a mark. */
type LinkMessage = { readonly link: 'sealgate'; readonly value?: unknown } & (
  | { readonly kind: 'ask'; readonly id: number; readonly name: string }
  | { readonly kind: 'answer'; readonly id: number; readonly error?: string }
  | { readonly kind: 'notice'; readonly name: string }
);

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly endTimer: () => void;
}

/** One end of the channel between the primary process and one worker: questions with a deadline, and notices. */
export class WorkerLink {
  readonly #options: LinkOptions;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #isClosed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** @throws Error when the other process fails to answer, is gone, or takes longer than `withinMs`. */
  ask(name: string, withinMs: number): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error('The other process has ended.'));
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((resolve, reject) => {
      const endTimer = this.#options.startTimer(() => {
        this.#waiting.delete(id);
        reject(new Error(`The other process did not answer within ${withinMs} ms.`));
      }, withinMs);
      this.#waiting.set(id, { resolve, reject, endTimer });
      this.#send({ link: 'sealgate', kind: 'ask', id, name });
    });
  }

  notify(name: string, value?: unknown): void {
    this.#send({ link: 'sealgate', kind: 'notice', name, value });
  }

  /** Takes a message from the channel; those of other libraries are left alone. */
  receive(message: unknown): void {
    if (!isOurs(message)) return;
    if (message.kind === 'notice') return this.#options.notices[message.name]?.(message.value);
    if (message.kind === 'ask') return void this.#answer(message.id, message.name);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    waiting?.endTimer();
    if (message.error === undefined) waiting?.resolve(message.value);
    else waiting?.reject(new Error(message.error));
  }

  /** The other process has ended: whatever it was asked is rejected, now and later. */
  close(): void {
    this.#isClosed = true;
    for (const { reject, endTimer } of this.#waiting.values()) {
      endTimer();
      reject(new Error('The other process has ended.'));
    }
    this.#waiting.clear();
  }

  async #answer(id: number, name: string): Promise<void> {
    const answer = this.#options.answers[name];
    try {
      assert(answer !== undefined, `Nothing answers ${name}.`);
      this.#send({ link: 'sealgate', kind: 'answer', id, value: await answer() });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#send({ link: 'sealgate', kind: 'answer', id, error: reason });
    }
  }

  #send(message: LinkMessage): void {
    this.#options.send(message);
  }
}

function isOurs(message: unknown): message is LinkMessage {
  return typeof message === 'object' && message !== null && 'link' in message && message.link === 'sealgate';
}

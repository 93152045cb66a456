import { type common } from '@hyperledger/fabric-protos';
import type { ChannelLedger } from './channel-ledger.ts';

type Envelope = InstanceType<typeof common.Envelope>;

interface OrdererOptions {
  readonly batchTimeoutMs: number;
  readonly maxMessageCount: number;
}

/** The ordering service: one queue per channel, cut by count or by the age of the first envelope. */
export class Orderer {
  readonly #options: OrdererOptions;
  readonly #queues = new Map<ChannelLedger, { envelopes: Envelope[]; timer: NodeJS.Timeout | undefined }>();
  #held = false;
  isAway = false;

  constructor(options: OrdererOptions) {
    this.#options = options;
  }

  /** The envelope is ordered when this returns. */
  order(ledger: ChannelLedger, envelope: Envelope): void {
    const queue = this.#queues.get(ledger) ?? { envelopes: [], timer: undefined };
    this.#queues.set(ledger, queue);
    queue.envelopes.push(envelope);
    if (this.#held) return;
    if (queue.envelopes.length >= this.#options.maxMessageCount) this.#cut(ledger);
    else queue.timer ??= setTimeout(() => this.#cut(ledger), this.#options.batchTimeoutMs).unref();
  }

  pending(ledger: ChannelLedger): number {
    return this.#queues.get(ledger)?.envelopes.length ?? 0;
  }

  hold(): void {
    this.#held = true;
    for (const queue of this.#queues.values()) {
      clearTimeout(queue.timer);
      queue.timer = undefined;
    }
  }

  release(): void {
    this.#held = false;
    for (const ledger of this.#queues.keys()) this.#cut(ledger);
  }

  /** Drops queued envelopes, like an orderer that dies before it cuts the block. */
  forget(): void {
    for (const queue of this.#queues.values()) {
      clearTimeout(queue.timer);
      queue.timer = undefined;
      queue.envelopes = [];
    }
  }

  #cut(ledger: ChannelLedger): void {
    const queue = this.#queues.get(ledger)!;
    clearTimeout(queue.timer);
    queue.timer = undefined;
    while (queue.envelopes.length > 0) ledger.commit(queue.envelopes.splice(0, this.#options.maxMessageCount));
  }
}

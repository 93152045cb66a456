import { setTimeout as delay } from 'node:timers/promises';
import type { CloseableAsyncIterable } from '@hyperledger/fabric-gateway';
import type { peer as protos } from '@hyperledger/fabric-protos';
import type { GatewayPeers } from './gateway-peers.ts';

interface CommitStreamOptions {
  /** Fabric's name. */
  readonly channel: string;
  readonly peers: GatewayPeers;
  /** A block contains a watched transaction. */
  readonly onVerdict: (transactionId: string, code: number, blockNumber: number) => void;
  /** Watched transactions may have been missed: the stream broke off before it had a position to resume from. */
  readonly onGap: () => void;
  readonly onLost: (detail: string) => void;
}

const UNAVAILABLE = 14;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/**
 * The filtered blocks of one channel: only ids and validation codes are sent. One stream serves every transaction of
 * the channel. After a break it resumes after the last block it saw, at another peer if there is one, so no commit is
 * missed.
 */
export class CommitStream {
  readonly #options: CommitStreamOptions;
  readonly #watched = new Set<string>();
  #position: number | undefined;
  #events: CloseableAsyncIterable<protos.FilteredBlock> | undefined;
  #endpoint: string | undefined;
  /** The newest block that the peer of the open stream has delivered on it. */
  #delivered: number | undefined;
  #live = false;
  #isLossLogged = false;
  #closed = false;
  #running: Promise<void> | undefined;
  readonly #stop = new AbortController();

  constructor(options: CommitStreamOptions) {
    this.#options = options;
  }

  /** The newest block seen: transactions submitted from now on are in later blocks. */
  get position(): number | undefined {
    return this.#position;
  }

  /** True while blocks arrive from a known position: then silence means that there is no block. */
  get live(): boolean {
    return this.#live;
  }

  /** The newest block that this peer has delivered on the open stream; its state includes that block. */
  deliveredBy(endpoint: string): number | undefined {
    return this.#endpoint === endpoint ? this.#delivered : undefined;
  }

  /** Opens the stream once; after `afterBlock` if given, else after the newest block. */
  open(afterBlock?: number): void {
    if (this.#running !== undefined) return;
    this.#position = afterBlock;
    this.#running = this.#run();
  }

  watch(transactionId: string): void {
    this.#watched.add(transactionId);
  }

  unwatch(transactionId: string): void {
    this.#watched.delete(transactionId);
  }

  /** Its peer reported a block by other means, but not here: resume at another peer. */
  switchPeer(): void {
    if (this.#endpoint !== undefined) this.#options.peers.backOff(this.#endpoint, 'its block stream is silent');
    this.#events?.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stop.abort();
    this.#events?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.#closed; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const before = this.#position;
      const reason = await this.#follow();
      this.#live = false;
      if (this.#closed) return;
      if (!this.#isLossLogged) this.#options.onLost(reason);
      // Logged once, until blocks arrive again.
      this.#isLossLogged = true;
      if (this.#position === undefined) this.#options.onGap();
      if (this.#position !== before) pauseMs = FIRST_PAUSE_MS;
      await delay(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  /** Follows one stream to its end. Returns why it ended. */
  async #follow(): Promise<string> {
    try {
      const { peers, channel } = this.#options;
      const picked = peers.pick();
      this.#endpoint = picked.endpoint;
      const start = this.#position === undefined ? {} : { startBlock: BigInt(this.#position + 1) };
      this.#events = await picked.gateway.getNetwork(channel).getFilteredBlockEvents(start);
      // With a start block nothing can be missed; without one, nothing after the first block.
      this.#live = this.#position !== undefined;
      for await (const block of this.#events) this.#take(block);
      return 'the stream ended';
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === UNAVAILABLE && this.#endpoint !== undefined && !this.#closed) {
        this.#options.peers.backOff(this.#endpoint, 'its block stream broke off');
      }
      return error instanceof Error ? error.message : String(error);
    } finally {
      this.#events?.close();
      this.#events = undefined;
      this.#endpoint = undefined;
      this.#delivered = undefined;
    }
  }

  #take(block: protos.FilteredBlock): void {
    const number = block.getNumber();
    if (this.#watched.size > 0) {
      for (const transaction of block.getFilteredTransactionsList()) {
        const id = transaction.getTxid();
        if (this.#watched.has(id)) this.#options.onVerdict(id, transaction.getTxValidationCode(), number);
      }
    }
    // Moved only after the whole block was reported, so that a break in between repeats it.
    this.#position = number;
    this.#delivered = number;
    this.#live = true;
    this.#isLossLogged = false;
  }
}

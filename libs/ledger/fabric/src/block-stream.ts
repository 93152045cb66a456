import { setTimeout as delay } from 'node:timers/promises';
import type { CloseableAsyncIterable } from '@hyperledger/fabric-gateway';
import type { common } from '@hyperledger/fabric-protos';
import { channelBlock, type ChannelBlock } from './block-content.ts';
import type { GatewayPeers } from './gateway-peers.ts';

interface BlockStreamOptions {
  /** Fabric's name. */
  readonly channel: string;
  readonly peers: GatewayPeers;
  /** Number of the first block. */
  readonly from: number;
  /** Called with every block from that one on, in order and without a gap. */
  readonly onBlock: (block: ChannelBlock) => void;
  /** Called once until blocks arrive again. */
  readonly onLost: (detail: string) => void;
}

const UNAVAILABLE = 14;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/** Whole blocks of one channel. After a break it resumes after the last one, at another peer if there is one. */
export class BlockStream {
  readonly #options: BlockStreamOptions;
  readonly #stop = new AbortController();
  #next: number;
  #isLossTold = false;
  /** Peers whose streams ended without a block since the last one: others are asked first. */
  readonly #tried = new Set<string>();
  #endpoint: string | undefined;
  #events: CloseableAsyncIterable<InstanceType<typeof common.Block>> | undefined;
  readonly #running: Promise<void>;

  constructor(options: BlockStreamOptions) {
    this.#options = options;
    this.#next = options.from;
    this.#running = this.#run();
  }

  /** Another peer has had a block for a while that this one has not sent. */
  switchPeer(): void {
    if (this.#endpoint !== undefined) this.#options.peers.backOff(this.#endpoint, 'its block stream is behind');
    this.#events?.close();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#events?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const before = this.#next;
      const reason = await this.#follow();
      if (signal.aborted) return;
      if (!this.#isLossTold) this.#options.onLost(reason);
      this.#isLossTold = true;
      if (this.#next !== before) pauseMs = FIRST_PAUSE_MS;
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Follows one stream to its end. Returns why it ended. */
  async #follow(): Promise<string> {
    const { peers, channel, onBlock } = this.#options;
    try {
      const picked = peers.pick({ tried: this.#tried });
      this.#endpoint = picked.endpoint;
      if (this.#tried.size >= peers.count) this.#tried.clear();
      this.#tried.add(picked.endpoint);
      const network = picked.gateway.getNetwork(channel);
      this.#events = await network.getBlockEvents({ startBlock: BigInt(this.#next) });
      if (this.#stop.signal.aborted) return 'it was closed';
      for await (const sent of this.#events) {
        const block = channelBlock(sent);
        if (block.number !== this.#next) return `block ${block.number} was sent in place of ${this.#next}`;
        onBlock(block);
        // Moved only after the block was told, so that a break in between repeats it.
        this.#next += 1;
        this.#tried.clear();
        this.#isLossTold = false;
      }
      return 'the stream ended';
    } catch (error) {
      const isAway = (error as { code?: unknown }).code === UNAVAILABLE;
      if (isAway && this.#endpoint !== undefined && !this.#stop.signal.aborted)
        peers.backOff(this.#endpoint, 'its block stream broke off');
      return error instanceof Error ? error.message : String(error);
    } finally {
      this.#events?.close();
      this.#events = undefined;
      this.#endpoint = undefined;
    }
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { channelBlock, type ChannelBlock } from './block-content.ts';
import { BlockStream } from './block-stream.ts';
import { UnavailableError } from './fabric-errors.ts';
import type { GatewayPeers } from './gateway-peers.ts';
import type { common } from '@hyperledger/fabric-protos';
import { blocksAt } from './peer-height.ts';
import { wholeBlock, type WholeBlock } from './whole-block.ts';

interface ChannelBlocksOptions {
  /** Fabric's name. */
  readonly channel: string;
  readonly peers: GatewayPeers;
  readonly now: () => number;
  readonly onLost: (detail: string) => void;
}

/** Blocks kept in memory for readers that are at the end of the channel. */
const MOST_KEPT = 64;
const MOST_KEPT_BYTES = 16 * 1024 * 1024;
/** Of one read from a peer; one block may be larger. */
const READ_BYTES = 2 * 1024 * 1024;
const READ_WITHIN_MS = 5000;
const ASK_WITHIN_MS = 2000;
/** Interval of asking every peer for its height. */
const COMPARE_EVERY_MS = 2500;
const RETRY_MS = 500;

/** The stream, while somebody follows. */
interface Following {
  readonly stop: AbortController;
  stream: BlockStream | undefined;
  /** The newest block that the stream has sent, or need not send. */
  delivered: number;
}

/**
 * Whole blocks of one channel for any number of readers: one stream for those that follow its end, and short reads of
 * their own for those that are further back.
 */
export class ChannelBlocks {
  readonly #options: ChannelBlocksOptions;
  readonly #waiting = new Set<() => void>();
  #kept: ChannelBlock[] = [];
  #keptBytes = 0;
  #newest: number | undefined;
  #followers = 0;
  #following: Following | undefined;

  constructor(options: ChannelBlocksOptions) {
    this.#options = options;
  }

  /** The newest block that any peer is known to have; it is kept up to date while somebody follows. */
  get newest(): number | undefined {
    return this.#newest;
  }

  /** The newest block of the peers, asked now. @throws UnavailableError if none answers within two seconds. */
  async askNewest(): Promise<number> {
    const newest = Math.max(...(await this.#askAll()).map((known) => known.newest));
    this.#learn(newest);
    return Math.max(newest, this.#newest ?? newest);
  }

  /**
   * The first block that a peer has which answers now: of peers that began from a snapshot it is not 0.
   * @throws UnavailableError if none answers within two seconds.
   */
  async askFirst(): Promise<number> {
    return Math.min(...(await this.#askAll()).map(({ first }) => first));
  }

  /** Opens the stream of new blocks, shared by all who follow, until the last one calls the returned function. */
  follow(): () => void {
    this.#followers += 1;
    this.#following ??= this.#begin();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#followers -= 1;
      if (this.#followers === 0) void this.close();
    };
  }

  /** Resolves once a peer is known to have this block, or the signal is aborted. Only of use while somebody follows. */
  reached(block: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!signal.aborted && (this.#newest ?? -1) < block) return;
        this.#waiting.delete(look);
        signal.removeEventListener('abort', look);
        resolve();
      };
      this.#waiting.add(look);
      signal.addEventListener('abort', look);
      look();
    });
  }

  /**
   * Some blocks from this one on, in order without a gap: at least one if a peer is known to have it. Ends within
   * seconds. @throws UnavailableError if no peer sends it.
   */
  async read(from: number, signal: AbortSignal): Promise<readonly ChannelBlock[]> {
    const [first] = this.#kept;
    if (first !== undefined && from >= first.number) {
      const held = this.#kept.slice(from - first.number);
      if (held.length > 0) return held;
    }
    const newest = this.#newest ?? (await this.askNewest());
    if (from > newest) return [];
    return this.#readPeers(from, { upTo: Math.min(newest, from + MOST_KEPT - 1), signal, decode: channelBlock });
  }

  /**
   * The same with all that a block says, up to a block that a peer is known to have. Nothing is kept in memory.
   * @throws UnavailableError if no peer sends it.
   */
  readWhole(from: number, upTo: number, signal: AbortSignal): Promise<readonly WholeBlock[]> {
    return this.#readPeers(from, { upTo, signal, decode: wholeBlock });
  }

  /** What each peer says that answers; one at least. @throws UnavailableError */
  async #askAll(): Promise<Awaited<ReturnType<typeof blocksAt>>[]> {
    const { peers, channel, now } = this.#options;
    const deadlineMs = now() + ASK_WITHIN_MS;
    const asked = peers.all().map((peer) => blocksAt(peer, channel, deadlineMs).catch(() => undefined));
    const known = (await Promise.all(asked)).filter((blocks) => blocks !== undefined);
    if (known.length === 0) throw new UnavailableError(`No peer says how many blocks ${channel} has.`);
    return known;
  }

  async #readPeers<Decoded extends Numbered>(from: number, reading: Reading<Decoded>): Promise<readonly Decoded[]> {
    const { signal } = reading;
    const tried = new Set<string>();
    const reasons: string[] = [];
    while (tried.size < this.#options.peers.count && !signal.aborted) {
      const read = await this.#readFrom(from, { ...reading, tried, reasons });
      if (read.length > 0) return read;
    }
    if (signal.aborted) return [];
    throw new UnavailableError(`No peer sends block ${from} of ${this.#options.channel}: ${reasons.join('; ')}.`);
  }

  /** Ends the stream. */
  async close(): Promise<void> {
    const following = this.#following;
    this.#following = undefined;
    this.#kept = [];
    this.#keptBytes = 0;
    following?.stop.abort();
    await following?.stream?.close();
  }

  #begin(): Following {
    const following: Following = { stop: new AbortController(), stream: undefined, delivered: Infinity };
    void this.#open(following);
    void this.#compare(following);
    return following;
  }

  async #open(following: Following): Promise<void> {
    const { channel, peers, onLost } = this.#options;
    const { signal } = following.stop;
    for (let isTold = false; !signal.aborted; isTold = true) {
      try {
        const newest = await this.askNewest();
        if (signal.aborted) return;
        const onBlock = (block: ChannelBlock): void => {
          following.delivered = block.number;
          if (this.#following === following) this.#keep(block);
        };
        following.delivered = newest;
        following.stream = new BlockStream({ channel, peers, from: newest + 1, onBlock, onLost });
        return;
      } catch (error) {
        if (!isTold) onLost(String(error));
        await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** A peer may be silent or behind, with its stream open: another one's height tells. */
  async #compare(following: Following): Promise<void> {
    const { signal } = following.stop;
    let missing: number | undefined;
    for (;;) {
      await delay(COMPARE_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      const newest = await this.askNewest().catch(() => undefined);
      const { delivered } = following;
      if (missing !== undefined && delivered < missing) following.stream?.switchPeer();
      missing = newest !== undefined && delivered < newest ? newest : undefined;
    }
  }

  #keep(block: ChannelBlock): void {
    this.#kept.push(block);
    this.#keptBytes += block.bytes;
    while (this.#kept.length > MOST_KEPT || (this.#keptBytes > MOST_KEPT_BYTES && this.#kept.length > 1))
      this.#keptBytes -= this.#kept.shift()!.bytes;
    this.#learn(block.number);
  }

  #learn(newest: number): void {
    if (newest <= (this.#newest ?? -1)) return;
    this.#newest = newest;
    for (const look of [...this.#waiting]) look();
  }

  /** What one peer sends of these blocks; empty if nothing. */
  async #readFrom<Decoded extends Numbered>(
    from: number,
    { upTo, signal, decode, tried, reasons }: ReadFrom<Decoded>,
  ): Promise<Decoded[]> {
    const { peers, channel } = this.#options;
    const blocks: Decoded[] = [];
    let bytes = 0;
    const picked = peers.pick({ tried });
    tried.add(picked.endpoint);
    const events = await picked.gateway.getNetwork(channel).getBlockEvents({ startBlock: BigInt(from) });
    const end = (): void => events.close();
    const timer = setTimeout(end, READ_WITHIN_MS);
    signal.addEventListener('abort', end, { once: true });
    try {
      for await (const sent of events) {
        const block = decode(sent);
        if (block.number !== from + blocks.length) throw new Error(`block ${block.number} was sent`);
        blocks.push(block);
        bytes += block.bytes;
        if (block.number >= upTo || bytes >= READ_BYTES || signal.aborted) break;
      }
    } catch (error) {
      reasons.push(`${picked.endpoint}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      events.close();
    }
    return blocks;
  }
}

type Numbered = Pick<ChannelBlock, 'number' | 'bytes'>;

interface Reading<Decoded> {
  readonly upTo: number;
  readonly signal: AbortSignal;
  readonly decode: (block: InstanceType<typeof common.Block>) => Decoded;
}

interface ReadFrom<Decoded> extends Reading<Decoded> {
  /** Endpoints, to which this adds. */
  readonly tried: Set<string>;
  readonly reasons: string[];
}

import { StatusCode } from '@hyperledger/fabric-gateway';
import { CommitStream } from './commit-stream.ts';
import type { FabricDeadlines } from './connection-file.ts';
import { EndingWriter, settlementOf, type OnSettlement } from './ending-writer.ts';
import type { FabricObserver } from './fabric-observer.ts';
import type { FaultLog } from './fault-log.ts';
import type { GatewayPeers } from './gateway-peers.ts';
import type { Ending, OrphanEntry } from './journal-statements.ts';
import type { Journal } from './journal.ts';
import { OpenTransaction, type NewOpenTransaction } from './open-transaction.ts';
import { Pursuit } from './pursuit.ts';
import { resultOf } from './submit-request.ts';
import { nameOfCode } from './validation-code.ts';

interface SettlerOptions {
  readonly peers: GatewayPeers;
  readonly journal: Journal;
  readonly deadlinesMs: FabricDeadlines;
  readonly now: () => number;
  readonly observer: FabricObserver;
  readonly faults: FaultLog;
  readonly onSettlement: OnSettlement | undefined;
}

const TICK_MS = 50;
const STREAM_BEHIND_MS = 1000;
/** Time for a replaying stream to deliver an older block. */
const REPLAY_MS = 200;
/**
 * Brings every journalled transaction to its end: by the block stream of its channel; by status requests while that is
 * silent, down or new; and by resending the same envelope. None of these can write anything twice: an envelope is
 * committed once, however often it is sent.
 */
export class Settler {
  readonly #options: SettlerOptions;
  readonly #open = new Map<string, OpenTransaction>();
  readonly #streams = new Map<string, CommitStream>();
  readonly #endings: EndingWriter;
  readonly #pursuit: Pursuit;
  #ticker: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SettlerOptions) {
    this.#options = options;
    const { journal, observer, faults, peers, deadlinesMs, now } = options;
    this.#endings = new EndingWriter(journal, (detail) => observer.problem?.('journal_away', detail));
    this.#pursuit = new Pursuit({
      peers,
      deadlinesMs,
      now,
      observer,
      faults,
      isLive: (channel) => this.#streams.get(channel)?.live === true,
      onStatus: (open, code, blockNumber) => this.#status(open, code, blockNumber),
    });
  }

  get unsettled(): number {
    return this.#open.size;
  }

  get openIds(): readonly string[] {
    return [...this.#open.keys()];
  }

  get oldestMs(): number {
    const [oldest] = this.#open.values();
    return oldest === undefined ? 0 : Math.max(0, this.#options.now() - oldest.sinceMs);
  }

  get liveStreams(): number {
    return [...this.#streams.values()].filter(({ live }) => live).length;
  }

  /** The newest block seen of a channel; opens its stream. */
  positionOf(channel: string): number | undefined {
    return this.#streamOf(channel).position;
  }

  /** The newest block that a peer has delivered on the open stream of a channel. Opens no stream. */
  deliveredBy(channel: string, endpoint: string): number | undefined {
    return this.#streams.get(channel)?.deliveredBy(endpoint);
  }

  /** Tracks a journalled transaction; call it before sending, so that its block cannot be missed. */
  track(transaction: NewOpenTransaction): OpenTransaction {
    const open = new OpenTransaction(transaction, this.#options.now());
    this.#add(open);
    return open;
  }

  /** Takes over transactions of another process. Whether they were ever sent is unknown. */
  adopt(orphans: readonly OrphanEntry[]): void {
    const now = this.#options.now();
    for (const [channel, entries] of groupByChannel(orphans)) {
      const blocks = entries.map(({ fromBlock }) => fromBlock);
      const isNew = !this.#streams.has(channel);
      const after = blocks.includes(undefined) ? undefined : Math.min(...(blocks as number[]));
      this.#streamOf(channel, after);
      const replays = isNew && after !== undefined;
      for (const entry of entries) {
        if (this.#open.has(entry.transactionId)) continue;
        const open = new OpenTransaction(entry, Math.min(now, entry.begunAtMs));
        open.late = true;
        open.maybeUnsent = true;
        // A stream that begins before it will most likely deliver it.
        open.askAt(now + (replays ? REPLAY_MS : 0));
        this.#add(open);
      }
    }
  }

  find(transactionId: string): OpenTransaction | undefined {
    return this.#open.get(transactionId);
  }

  /** The orderer accepted it: wait for its block. */
  acknowledged(open: OpenTransaction): void {
    this.#pursuit.acknowledged(open);
  }

  /** Submit ended without telling whether the orderer accepted it. */
  unconfirmed(open: OpenTransaction): void {
    this.#pursuit.unconfirmed(open);
  }

  /** The orderer refused the first envelope. */
  refused(open: OpenTransaction, message: string): void {
    if (open.sentAgain) return this.#pursuit.refusedLate(open, message);
    this.#finish(open, {
      transactionId: open.transactionId,
      status: 'refused',
      detail: message.slice(0, 1000).replaceAll('\0', ''),
      blockNumber: null,
      result: null,
    });
  }

  /** Resolves when all known endings are written; open transactions are left to the next process. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pursuit.close();
    clearInterval(this.#ticker);
    await Promise.all([...this.#streams.values()].map((stream) => stream.close()));
    await this.#endings.close();
  }

  #add(open: OpenTransaction): void {
    this.#open.set(open.transactionId, open);
    this.#streamOf(open.channel).watch(open.transactionId);
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS);
  }

  #streamOf(channel: string, afterBlock?: number): CommitStream {
    let stream = this.#streams.get(channel);
    if (stream === undefined) {
      stream = new CommitStream({
        channel,
        peers: this.#options.peers,
        onVerdict: (id, code, block) => this.#verdict(id, code, block, 'block'),
        onGap: () => this.#askAll(channel),
        onLost: (detail) => this.#options.observer.problem?.('stream_lost', `${channel}: ${detail}`),
      });
      this.#streams.set(channel, stream);
      if (!this.#closed) stream.open(afterBlock);
    }
    return stream;
  }

  #askAll(channel: string): void {
    for (const open of this.#open.values())
      if (open.channel === channel && !open.sending) open.askAt(this.#options.now());
  }

  /** Starts what is due, oldest first. */
  #tick(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#ticker);
      this.#ticker = undefined;
      return;
    }
    this.#pursuit.run(this.#open.values());
  }

  #status(open: OpenTransaction, code: number, blockNumber: number): void {
    this.#expectBlock(open.channel, blockNumber);
    this.#verdict(open.transactionId, code, blockNumber, 'status');
  }

  /** If a live stream does not deliver a known block within a moment, its peer is silent or behind: switch peers. */
  #expectBlock(channel: string, blockNumber: number): void {
    const stream = this.#streams.get(channel);
    if (stream?.position === undefined || stream.position >= blockNumber) return;
    setTimeout(() => {
      if (!this.#closed && stream.live && stream.position! < blockNumber) stream.switchPeer();
    }, STREAM_BEHIND_MS).unref();
  }

  #verdict(transactionId: string, code: number, blockNumber: number, from: 'block' | 'status'): void {
    const open = this.#open.get(transactionId);
    if (open === undefined) return;
    // The second of two envelopes: the first one's verdict counts, which only the status reports.
    if (code === StatusCode.DUPLICATE_TXID && from === 'block') return open.askAt(this.#options.now());
    const { observer, now } = this.#options;
    const name = nameOfCode(code);
    observer.validated?.(name);
    if (open.acknowledgedAtMs !== undefined) observer.phase?.('commit', true, now() - open.acknowledgedAtMs);
    const valid = code === StatusCode.VALID;
    this.#finish(open, {
      transactionId,
      status: valid ? 'committed' : 'invalid',
      detail: valid ? null : name,
      blockNumber,
      result: valid ? this.#resultOf(open) : null,
    });
  }

  /** The result is part of the request; a damaged row must not stop the whole stream. */
  #resultOf(open: OpenTransaction): Uint8Array {
    if (open.result !== undefined) return open.result;
    const peer = this.#options.peers.pick();
    try {
      return resultOf(open.request, peer);
    } catch (error) {
      this.#options.observer.problem?.('unexpected', `${open.transactionId}: ${String(error)}`);
      return new Uint8Array();
    }
  }

  #finish(open: OpenTransaction, ending: Ending): void {
    this.#open.delete(open.transactionId);
    this.#streams.get(open.channel)?.unwatch(open.transactionId);
    const settlement = settlementOf(ending);
    const { note, late: isLate } = open;
    const written = this.#endings.write(ending, () => this.#options.onSettlement?.(settlement, { note, isLate }));
    open.settle(settlement, written);
  }
}

function groupByChannel(orphans: readonly OrphanEntry[]): Map<string, OrphanEntry[]> {
  const groups = new Map<string, OrphanEntry[]>();
  for (const orphan of orphans) {
    const group = groups.get(orphan.channel);
    if (group === undefined) groups.set(orphan.channel, [orphan]);
    else group.push(orphan);
  }
  return groups;
}

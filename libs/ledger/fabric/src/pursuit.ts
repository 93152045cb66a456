import { GatewayError } from '@hyperledger/fabric-gateway';
import { askCommit } from './ask-commit.ts';
import type { FabricDeadlines } from './connection-file.ts';
import type { FabricObserver } from './fabric-observer.ts';
import { isOrderersAway, sendVerdict } from './fabric-status.ts';
import type { GatewayPeers, PeerGateway } from './gateway-peers.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { sendRequest } from './submit-request.ts';

export interface PursuitOptions {
  readonly peers: GatewayPeers;
  readonly deadlinesMs: FabricDeadlines;
  readonly now: () => number;
  readonly observer: FabricObserver;
  /** True where the channel's stream would tell of a block. */
  readonly isLive: (channel: string) => boolean;
  /** What a peer answered to the question for a status. */
  readonly onStatus: (open: OpenTransaction, code: number, blockNumber: number) => void;
}

/** Questions and repeated envelopes under way at once. */
const AT_ONCE = 64;
/** How long a live stream is trusted to bring the block before the peer is asked. */
const PATIENCE_MS = 3000;
/** How long what an orderer took may stay out of the blocks before it is thought to be lost. */
const LOST_AFTER_MS = 10_000;
/** The peer answers at once of what is in a block; of what was never sent it would wait in vain. */
const ASK_UNSENT_MS = 500;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;
const UNAVAILABLE = 14;

/**
 * What is done about a transaction that no block has told of: its status is asked for, and its envelope is sent again.
 * Neither can write anything twice.
 */
export class Pursuit {
  readonly #options: PursuitOptions;
  #busy = 0;
  #closed = false;

  constructor(options: PursuitOptions) {
    this.#options = options;
  }

  /** Does what is due, in the order given, as far as there is room. */
  run(transactions: Iterable<OpenTransaction>): void {
    const now = this.#options.now();
    for (const open of transactions) {
      if (this.#busy >= AT_ONCE) return;
      if (!open.isDue(now)) continue;
      this.#busy += 1;
      open.busy = true;
      void this.#pursue(open).finally(() => {
        this.#busy -= 1;
        open.busy = false;
      });
    }
  }

  /** An orderer took it: from now on its block is awaited. */
  acknowledged(open: OpenTransaction): void {
    const now = this.#options.now();
    open.acknowledgedAtMs = now;
    open.askAt(now + (this.#options.isLive(open.channel) ? PATIENCE_MS : 0));
  }

  /** Submit ended without saying whether the orderer took it. */
  doubted(open: OpenTransaction): void {
    open.sendAt(this.#later(open));
  }

  /** An orderer said no, while another envelope of the same transaction may be on its way: that decides nothing. */
  refusedLate(open: OpenTransaction, message: string): void {
    this.#options.observer.problem?.('transaction_refused_late', `${open.transactionId}: ${message}`);
    open.askAt(this.#later(open));
  }

  /** From now on failures are nobody's. */
  close(): void {
    this.#closed = true;
  }

  #later(open: OpenTransaction): number {
    return this.#options.now() + open.nextPauseMs(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }

  async #pursue(open: OpenTransaction): Promise<void> {
    const { observer, peers } = this.#options;
    let peer: PeerGateway;
    try {
      peer = peers.pick();
    } catch {
      // Told by credentials(); it heals when the files are there.
      return this.doubted(open);
    }
    try {
      await (open.sending ? this.#send(open, peer) : this.#ask(open, peer));
    } catch (error) {
      if (this.#closed) return;
      const failed = error instanceof GatewayError;
      if (!failed) observer.problem?.('unexpected', String(error));
      else if (error.code === UNAVAILABLE) peers.rest(peer.endpoint, isOrderersAway(error) ? undefined : error.message);
      this.#takeTurns(open, failed && error.code === UNAVAILABLE);
    }
  }

  /**
   * Not in a block within the deadline: the envelope may have been lost on its way, so it is sent again. Where a status
   * could not be asked for, or an orderer took it not long ago, or no stream would tell that it is in, it is asked for next.
   */
  #takeTurns(open: OpenTransaction, unreachable: boolean): void {
    const { now, isLive } = this.#options;
    const isFresh = open.acknowledgedAtMs !== undefined && now() - open.acknowledgedAtMs < LOST_AFTER_MS;
    if (open.sending ? isLive(open.channel) : !unreachable && !isFresh) this.doubted(open);
    else open.askAt(this.#later(open));
  }

  async #ask(open: OpenTransaction, peer: PeerGateway): Promise<void> {
    const withinMs = open.maybeUnsent ? ASK_UNSENT_MS : this.#options.deadlinesMs.commitStatus;
    const { code, blockNumber } = await askCommit(
      peer,
      open,
      Math.min(withinMs, this.#options.deadlinesMs.commitStatus),
    );
    this.#options.onStatus(open, code, Number(blockNumber));
  }

  async #send(open: OpenTransaction, peer: PeerGateway): Promise<void> {
    this.#options.observer.retried?.('resend');
    open.sentAgain = true;
    open.maybeUnsent = false;
    try {
      await sendRequest(peer, open.request, this.#options.deadlinesMs.submit);
      this.acknowledged(open);
    } catch (error) {
      const verdict = error instanceof GatewayError ? sendVerdict(error) : undefined;
      if (verdict?.kind !== 'refused') throw error;
      this.refusedLate(open, verdict.message);
    }
  }
}

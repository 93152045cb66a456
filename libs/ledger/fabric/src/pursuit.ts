import { GatewayError, type Status } from '@hyperledger/fabric-gateway';
import { gateway as protos, msp } from '@hyperledger/fabric-protos';
import type { FabricDeadlines } from './connection-file.ts';
import type { FabricObserver } from './fabric-observer.ts';
import { sendVerdict } from './fabric-status.ts';
import type { FaultLog } from './fault-log.ts';
import type { GatewayPeers, PeerGateway } from './gateway-peers.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { sendFailed } from './send-failed.ts';
import { sendRequest } from './submit-request.ts';

interface PursuitOptions {
  readonly peers: GatewayPeers;
  readonly deadlinesMs: FabricDeadlines;
  readonly now: () => number;
  readonly observer: FabricObserver;
  readonly faults: FaultLog;
  /** True if the channel's stream would report a block. */
  readonly isLive: (channel: string) => boolean;
  /** A peer's answer to a status request. */
  readonly onStatus: (open: OpenTransaction, code: number, blockNumber: number) => void;
}

/** Maximum concurrent status requests and resent envelopes. */
const AT_ONCE = 64;
/** How long a live stream may take to deliver the block before a peer is asked. */
const PATIENCE_MS = 3000;
/** How long an accepted envelope may stay out of the blocks before it is considered lost. */
const LOST_AFTER_MS = 10_000;
/** A peer answers at once for a transaction in a block; for one that was never sent it would wait in vain. */
const ASK_UNSENT_MS = 500;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;
const UNAVAILABLE = 14;

/** Asks for the status of transactions not yet seen in a block, and resends them. Neither can write anything twice. */
export class Pursuit {
  readonly #options: PursuitOptions;
  #busy = 0;
  #closed = false;

  constructor(options: PursuitOptions) {
    this.#options = options;
  }

  /** Starts what is due, in the given order, up to the concurrency limit. */
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

  /** An orderer accepted it: wait for its block. */
  acknowledged(open: OpenTransaction): void {
    const now = this.#options.now();
    open.acknowledgedAtMs = now;
    open.askAt(now + (this.#options.isLive(open.channel) ? PATIENCE_MS : 0));
  }

  /** Submit ended without telling whether the orderer accepted it. */
  unconfirmed(open: OpenTransaction): void {
    open.sendAt(this.#later(open));
  }

  /** An orderer refused, while another envelope of the same transaction may be on its way: this decides nothing. */
  refusedLate(open: OpenTransaction, message: string): void {
    this.#options.observer.problem?.('transaction_refused_late', `${open.transactionId}: ${message}`);
    open.askAt(this.#later(open));
  }

  /** Suppresses failures from now on. */
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
      // Reported by credentials(); retried once the files are there.
      return this.unconfirmed(open);
    }
    try {
      await (open.sending ? this.#send(open, peer) : this.#ask(open, peer));
    } catch (error) {
      if (this.#closed) return;
      const failed = error instanceof GatewayError;
      if (!failed) observer.problem?.('unexpected', String(error));
      else if (error.code === UNAVAILABLE)
        sendFailed(this.#options, { channel: open.channel, endpoint: peer.endpoint }, error);
      this.#scheduleNext(open, failed && error.code === UNAVAILABLE);
    }
  }

  /**
   * Called if it is not in a block within the deadline. The envelope may be lost, so it is resent. If the status could
   * not be queried, or an orderer accepted it recently, or no stream would report its block, the status is requested
   * next.
   */
  #scheduleNext(open: OpenTransaction, unreachable: boolean): void {
    const { now, isLive } = this.#options;
    const isFresh = open.acknowledgedAtMs !== undefined && now() - open.acknowledgedAtMs < LOST_AFTER_MS;
    if (open.sending ? isLive(open.channel) : !unreachable && !isFresh) this.unconfirmed(open);
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

/**
 * Asks a peer for the status of a transaction; the peer waits until it is in a block, or for the deadline. The request
 * is built from channel and id each time and signed with the current identity: one signed before a certificate rotation
 * would be rejected.
 *
 * @throws GatewayError; the outcome stays unknown, whatever the error.
 */
function askCommit(
  peer: PeerGateway,
  { channel, transactionId }: { readonly channel: string; readonly transactionId: string },
  withinMs: number,
): Promise<Status> {
  const { mspId, certificate } = peer.identity;
  const creator = new msp.SerializedIdentity();
  creator.setMspid(mspId);
  creator.setIdBytes(certificate);
  const request = new protos.CommitStatusRequest();
  request.setChannelId(channel);
  request.setTransactionId(transactionId);
  request.setIdentity(creator.serializeBinary());
  const signed = new protos.SignedCommitStatusRequest();
  signed.setRequest(request.serializeBinary());
  return peer.gateway.newCommit(signed.serializeBinary()).getStatus({ deadline: Date.now() + withinMs });
}

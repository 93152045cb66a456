import { GatewayError } from '@hyperledger/fabric-gateway';
import { inSpan } from '@sealgate/observability';
import type { CallWindow } from './call-window.ts';
import type { FabricDeadlines, FabricLimits } from './connection-file.ts';
import type { Committed, ContractCall, Settlement, SubmitOptions } from './fabric-client.ts';
import { deadlineIn, orEnded, pause, type Deadline } from './deadline.ts';
import {
  ClaimTakenError,
  InvalidatedError,
  MisconfiguredError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
} from './fabric-errors.ts';
import type { FabricObserver } from './fabric-observer.ts';
import type { FaultLog } from './fault-log.ts';
import { sendVerdict } from './fabric-status.ts';
import type { GatewayPeers } from './gateway-peers.ts';
import type { JournalEntry } from './journal-statements.ts';
import type { Journal } from './journal.ts';
import type { OpenTransaction } from './open-transaction.ts';
import type { AcknowledgedHeights } from './peer-height.ts';
import type { Endorsed, PeerCalls } from './peer-calls.ts';
import { sendFailed } from './send-failed.ts';
import type { Settler } from './settler.ts';
import { sendRequest } from './submit-request.ts';

interface SubmissionOptions {
  readonly calls: PeerCalls;
  readonly peers: GatewayPeers;
  readonly window: CallWindow;
  readonly journal: Journal;
  readonly settler: Settler;
  readonly heights: AcknowledgedHeights;
  readonly limits: FabricLimits;
  readonly deadlinesMs: FabricDeadlines;
  readonly now: () => number;
  readonly random: () => number;
  readonly observer: FabricObserver;
  readonly faults: FaultLog;
}

/** Another transaction changed what this one had read: a new one reads again. */
const CONFLICTS: ReadonlySet<string> = new Set(['MVCC_READ_CONFLICT', 'PHANTOM_READ_CONFLICT']);
const FIRST_CONFLICT_PAUSE_MS = 10;
const LONGEST_CONFLICT_PAUSE_MS = 500;
const JOURNAL_AGAIN_MS = 50;
const RAISE_WITHIN_MS = 1000;
const SUBMIT = { name: 'fabric submit', kind: 'client' } as const;

/**
 * One write from proposal to block. Before the journal row nothing can have been ordered; after it the settler owns the
 * transaction, and this only waits with the caller.
 */
export class Submission {
  readonly #options: SubmissionOptions;
  /** Work that continues after its caller has left. */
  readonly #detached = new Set<Promise<void>>();

  constructor(options: SubmissionOptions) {
    this.#options = options;
  }

  /** A new transaction for each attempt, and only once the last one is known to have no effect. */
  async run(call: ContractCall, options: SubmitOptions, deadline: Deadline): Promise<Committed> {
    const { limits, observer, random, faults } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const settlement = await this.#attempt(call, options, deadline);
      switch (settlement.status) {
        case 'committed':
          return settlement;
        case 'refused':
          faults.report('misconfigured', `the orderer of ${call.channel}/${call.chaincode}`, settlement.message);
          throw new MisconfiguredError(settlement.message);
        case 'unknown':
          throw new UnknownOutcomeError(settlement.transactionId);
        case 'invalid': {
          const { transactionId, code } = settlement;
          const failed = new InvalidatedError(transactionId, code);
          if (!CONFLICTS.has(code) || attempt >= limits.conflictAttempts) throw failed;
          const longestMs = Math.min(FIRST_CONFLICT_PAUSE_MS * 2 ** attempt, LONGEST_CONFLICT_PAUSE_MS);
          if (!(await pause(longestMs * random(), deadline))) throw failed;
          observer.retried?.('conflict');
        }
      }
    }
  }

  /** Waits for work that continues after its caller has left. */
  async drained(): Promise<void> {
    while (this.#detached.size > 0) await Promise.all(this.#detached);
  }

  async #attempt(call: ContractCall, options: SubmitOptions, deadline: Deadline): Promise<Settlement> {
    const { calls, settler, limits, window } = this.#options;
    if (settler.unsettled >= limits.unsettled) {
      throw new OverloadedError('The limit of unsettled transactions is reached.');
    }
    // Read before the proposal is made, so that the transaction is certainly in a later block.
    const fromBlock = settler.positionOf(call.channel);
    const endorsed = await calls.endorse(call, deadline);
    let journalled: 'begun' | 'unsure';
    let entry: JournalEntry;
    try {
      entry = entryOf(call, options, endorsed, fromBlock);
      const made = entry;
      journalled = await inSpan({ name: 'fabric journal' }, () => this.#journal(made, deadline));
    } catch (error) {
      window.leave('failed');
      throw error;
    }
    if (journalled === 'unsure') {
      window.leave('failed');
      this.#runDetached(this.#journalLate(entry, endorsed));
      return { status: 'unknown', transactionId: entry.transactionId };
    }
    return this.#send(entry, endorsed, deadline);
  }

  /** Retries while the outcome of the statement is unknown: repeating it has no effect on an existing row. */
  async #journal(entry: JournalEntry, deadline: Deadline): Promise<'begun' | 'unsure'> {
    const { journal, observer, now } = this.#options;
    const startedAtMs = now();
    for (let wasUnsure = false; ;) {
      const begun = await journal.begin(entry);
      observer.phase?.('journal', begun === 'begun' || begun === 'claimed', now() - startedAtMs);
      if (begun === 'begun') return begun;
      if (begun === 'claimed') throw new ClaimTakenError('Another transaction holds the claim or the reference.');
      wasUnsure ||= begun === 'unsure';
      if (!wasUnsure) throw new UnavailableError('The journal cannot be written; nothing was sent.');
      observer.retried?.('journal');
      if (!(await pause(JOURNAL_AGAIN_MS, deadline))) return 'unsure';
    }
  }

  /** The caller got "unknown", because the row may exist: ensures that it does, then sends the transaction. */
  async #journalLate(entry: JournalEntry, endorsed: Endorsed): Promise<void> {
    for (let pauseMs = JOURNAL_AGAIN_MS; ; pauseMs = Math.min(pauseMs * 2, 2000)) {
      const begun = await this.#options.journal.begin(entry);
      if (begun === 'claimed') return;
      if (begun === 'begun') break;
      this.#options.observer.problem?.('journal_away', begun);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    const open = this.#track(entry, endorsed);
    open.late = true;
    this.#options.settler.unconfirmed(open);
  }

  async #send(entry: JournalEntry, endorsed: Endorsed, deadline: Deadline): Promise<Settlement> {
    const open = this.#track(entry, endorsed);
    this.#runDetached(this.#sendOnce(open, endorsed));
    const settlement = await inSpan({ name: 'fabric commit' }, () => orEnded(open.settlement, deadline));
    if (settlement === undefined) {
      open.late = true;
      return { status: 'unknown', transactionId: open.transactionId };
    }
    // The claim of an uncommitted transaction is released with the journal row.
    if (settlement.status !== 'committed') await orEnded(open.written, deadline);
    else await this.acknowledge(open.channel, settlement);
    return settlement;
  }

  /**
   * Before a caller is told of a block, every process can see its height. A database that is away delays the answer by
   * no more than this: until it is back, no process can read the height, and none believes that something is absent.
   */
  async acknowledge(channel: string, { blockNumber }: Committed): Promise<void> {
    const { heights, now } = this.#options;
    const deadline = deadlineIn(RAISE_WITHIN_MS, now(), undefined);
    await orEnded(
      heights.raise(channel, blockNumber).catch(() => undefined),
      deadline,
    );
    deadline.clear();
  }

  #track(entry: JournalEntry, { result }: Endorsed): OpenTransaction {
    const { transactionId, channel, request, note } = entry;
    return this.#options.settler.track({ transactionId, channel, request, note, result });
  }

  /** The first Submit of an envelope. Never rejects. */
  async #sendOnce(open: OpenTransaction, { peer }: Endorsed): Promise<void> {
    const { settler, window, observer, now, deadlinesMs } = this.#options;
    const startedAtMs = now();
    try {
      await inSpan(SUBMIT, () => sendRequest(peer, open.request, deadlinesMs.submit));
      window.leave('succeeded');
      observer.phase?.('submit', true, now() - startedAtMs);
      settler.acknowledged(open);
    } catch (error) {
      observer.phase?.('submit', false, now() - startedAtMs);
      if (!(error instanceof GatewayError)) {
        window.leave('failed');
        observer.problem?.('unexpected', String(error));
        return settler.unconfirmed(open);
      }
      const verdict = sendVerdict(error);
      window.leave(verdict.kind === 'unsent' ? 'overloaded' : 'failed');
      if (verdict.kind === 'unknown')
        sendFailed(this.#options, { channel: open.channel, endpoint: peer.endpoint }, error);
      if (verdict.kind === 'refused') settler.refused(open, verdict.message);
      else settler.unconfirmed(open);
    }
  }

  #runDetached(work: Promise<void>): void {
    this.#detached.add(work);
    void work.finally(() => this.#detached.delete(work));
  }
}

function entryOf(
  { channel }: ContractCall,
  { claim, reference, note }: SubmitOptions,
  { transactionId, result, request, peer }: Endorsed,
  fromBlock: number | undefined,
): JournalEntry {
  const identity = peer.identity.name;
  return {
    ...{ transactionId, channel, identity, request, fromBlock, reference, note },
    claim: claim?.({ transactionId, result }),
  };
}

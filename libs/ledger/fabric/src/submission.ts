import { GatewayError } from '@hyperledger/fabric-gateway';
import { inSpan } from '@sealgate/observability';
import type { CallWindow } from './call-window.ts';
import type { FabricDeadlines, FabricLimits } from './connection-file.ts';
import type { Committed, ContractCall, Settlement, SubmitOptions } from './contract-call.ts';
import { orEnded, pause, type Deadline } from './deadline.ts';
import {
  ClaimTakenError,
  InvalidatedError,
  MisconfiguredError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
} from './fabric-errors.ts';
import type { FabricObserver } from './fabric-observer.ts';
import { isOrderersAway, sendVerdict } from './fabric-status.ts';
import type { GatewayPeers } from './gateway-peers.ts';
import type { JournalEntry } from './journal-entry.ts';
import type { Journal } from './journal.ts';
import type { OpenTransaction } from './open-transaction.ts';
import type { Endorsed, PeerCalls } from './peer-calls.ts';
import type { Settler } from './settler.ts';
import { sendRequest } from './submit-request.ts';

export interface SubmissionOptions {
  readonly calls: PeerCalls;
  readonly peers: GatewayPeers;
  readonly window: CallWindow;
  readonly journal: Journal;
  readonly settler: Settler;
  readonly limits: FabricLimits;
  readonly deadlinesMs: FabricDeadlines;
  readonly now: () => number;
  readonly random: () => number;
  readonly observer: FabricObserver;
}

/** Somebody else changed what the transaction had read: a new one reads anew. */
const CONFLICTS: ReadonlySet<string> = new Set(['MVCC_READ_CONFLICT', 'PHANTOM_READ_CONFLICT']);
const FIRST_CONFLICT_PAUSE_MS = 10;
const LONGEST_CONFLICT_PAUSE_MS = 500;
const JOURNAL_AGAIN_MS = 50;
const SUBMIT = { name: 'fabric submit', kind: 'client' } as const;

/**
 * One write from proposal to block. Up to the journal row nothing can have been ordered, whatever happens; from it on the
 * transaction is the settler's, and this only waits with the caller.
 */
export class Submission {
  readonly #options: SubmissionOptions;
  /** What goes on after its caller has left. */
  readonly #behind = new Set<Promise<void>>();
  #orderersAway = false;

  constructor(options: SubmissionOptions) {
    this.#options = options;
  }

  /** A new transaction for each attempt; never another one before the last is known to be without effect. */
  async run(call: ContractCall, options: SubmitOptions, deadline: Deadline): Promise<Committed> {
    const { limits, observer, random } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const settlement = await this.#attempt(call, options, deadline);
      switch (settlement.status) {
        case 'committed':
          return settlement;
        case 'refused':
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

  /** Waits for what goes on after its caller has left. */
  async drained(): Promise<void> {
    while (this.#behind.size > 0) await Promise.all(this.#behind);
  }

  async #attempt(call: ContractCall, options: SubmitOptions, deadline: Deadline): Promise<Settlement> {
    const { calls, settler, limits, window } = this.#options;
    if (settler.unsettled >= limits.unsettled) {
      throw new OverloadedError('More transactions are unsettled than the driver holds.');
    }
    // Asked before the proposal is made, so that the transaction is certainly in a later block.
    const fromBlock = settler.positionOf(call.channel);
    const endorsed = await calls.endorse(call, deadline);
    let journalled: 'begun' | 'unsure';
    let entry: JournalEntry;
    try {
      entry = entryOf(call, options, endorsed, fromBlock);
      const made = entry;
      journalled = await inSpan({ name: 'fabric journal' }, () => this.#journal(made, deadline));
    } catch (error) {
      window.leave('badly');
      throw error;
    }
    if (journalled === 'unsure') {
      window.leave('badly');
      this.#goOn(this.#journalLate(entry, endorsed));
      return { status: 'unknown', transactionId: entry.transactionId };
    }
    return this.#send(entry, endorsed, deadline);
  }

  /** Again and again while the database does not say: the same row changes nothing the second time. */
  async #journal(entry: JournalEntry, deadline: Deadline): Promise<'begun' | 'unsure'> {
    const { journal, observer, now } = this.#options;
    const startedAtMs = now();
    for (let wasUnsure = false; ;) {
      const begun = await journal.begin(entry);
      observer.phase?.('journal', begun === 'begun' || begun === 'claimed', now() - startedAtMs);
      if (begun === 'begun') return begun;
      if (begun === 'claimed') throw new ClaimTakenError('Another transaction holds the claim.');
      wasUnsure ||= begun === 'unsure';
      if (!wasUnsure) throw new UnavailableError('The journal cannot be written; nothing was sent.');
      observer.retried?.('journal');
      if (!(await pause(JOURNAL_AGAIN_MS, deadline))) return 'unsure';
    }
  }

  /** The caller was told "unknown", because the row may be there: it is made sure that it is, and then sent. */
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
    this.#options.settler.doubted(open);
  }

  async #send(entry: JournalEntry, endorsed: Endorsed, deadline: Deadline): Promise<Settlement> {
    const open = this.#track(entry, endorsed);
    this.#goOn(this.#sendOnce(open, endorsed));
    const settlement = await inSpan({ name: 'fabric commit' }, () => orEnded(open.settlement, deadline));
    if (settlement === undefined) {
      open.late = true;
      return { status: 'unknown', transactionId: open.transactionId };
    }
    // The claim of what was not committed is free only when the journal says so.
    if (settlement.status !== 'committed') await orEnded(open.written, deadline);
    return settlement;
  }

  #track(entry: JournalEntry, { result }: Endorsed): OpenTransaction {
    const { transactionId, channel, request, note } = entry;
    return this.#options.settler.track({ transactionId, channel, request, note, result });
  }

  /** The first time an envelope goes out. Never rejects. */
  async #sendOnce(open: OpenTransaction, { peer }: Endorsed): Promise<void> {
    const { settler, window, observer, now, deadlinesMs } = this.#options;
    const startedAtMs = now();
    try {
      await inSpan(SUBMIT, () => sendRequest(peer, open.request, deadlinesMs.submit));
      this.#orderersAway = false;
      window.leave('well');
      observer.phase?.('submit', true, now() - startedAtMs);
      settler.acknowledged(open);
    } catch (error) {
      observer.phase?.('submit', false, now() - startedAtMs);
      if (!(error instanceof GatewayError)) {
        window.leave('badly');
        observer.problem?.('unexpected', String(error));
        return settler.doubted(open);
      }
      const verdict = sendVerdict(error);
      window.leave(verdict.kind === 'unsent' ? 'overloaded' : 'badly');
      if (verdict.kind === 'unknown') this.#rest(peer.endpoint, error);
      if (verdict.kind === 'refused') settler.refused(open, verdict.message);
      else settler.doubted(open);
    }
  }

  /** Another peer may reach the orderers that this one does not. That they are away is told once, until one takes something. */
  #rest(endpoint: string, error: GatewayError): void {
    const { peers, observer } = this.#options;
    const away = isOrderersAway(error);
    peers.rest(endpoint, away ? undefined : error.message);
    if (away && !this.#orderersAway) observer.problem?.('orderers_away', `${endpoint}: ${error.message}`);
    this.#orderersAway ||= away;
  }

  #goOn(work: Promise<void>): void {
    this.#behind.add(work);
    void work.finally(() => this.#behind.delete(work));
  }
}

function entryOf(
  { channel }: ContractCall,
  { claim, reference, note }: SubmitOptions,
  { transactionId, result, request }: Endorsed,
  fromBlock: number | undefined,
): JournalEntry {
  return { transactionId, channel, request, fromBlock, reference, note, claim: claim?.({ transactionId, result }) };
}

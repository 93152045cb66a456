import { GatewayError, type Proposal } from '@hyperledger/fabric-gateway';
import { inSpan } from '@sealgate/observability';
import type { CallWindow } from './call-window.ts';
import type { FabricDeadlines } from './connection-file.ts';
import type { ContractCall } from './contract-call.ts';
import { pause, type Deadline } from './deadline.ts';
import { ContractRefusedError, MisconfiguredError, OverloadedError, UnavailableError } from './fabric-errors.ts';
import type { FabricObserver } from './fabric-observer.ts';
import { askVerdict, type AskVerdict } from './fabric-status.ts';
import type { FabricReason } from './fabric-reasons.ts';
import type { GatewayPeers, PeerGateway } from './gateway-peers.ts';
import { submitRequest } from './submit-request.ts';

export interface PeerCallsOptions {
  readonly peers: GatewayPeers;
  readonly window: CallWindow;
  readonly deadlinesMs: FabricDeadlines;
  readonly now: () => number;
  /** 0 <= x < 1. */
  readonly random: () => number;
  readonly observer: FabricObserver;
}

/**
 * A transaction that the endorsers signed, and we did; it holds a place in the window until `leave`. The gateway client's
 * own objects are let go at once: hundreds of them that wait for blocks are what a garbage collection would copy.
 */
export interface Endorsed {
  readonly transactionId: string;
  /** What the transaction function returned. */
  readonly result: Buffer;
  /** The signed bytes that submit it. */
  readonly request: Buffer;
  readonly peer: PeerGateway;
}

/** The gateway protocol carries no trace context: a trace ends at the peer. */
const SPANS = {
  evaluate: { name: 'fabric evaluate', kind: 'client' },
  endorse: { name: 'fabric endorse', kind: 'client' },
} as const;

/** Proposals in all while endorsers disagree or a chaincode is away. */
const ATTEMPTS = 4;
const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
const SAY_AGAIN_MS = 60_000;
/** Faults that are remembered as told, and what is told of the words of one. */
const MOST_TOLD = 1000;
const MOST_WORDS = 1000;

/** Evaluate and Endorse: nothing is ordered by either, so each may be asked again with a new proposal. */
export class PeerCalls {
  readonly #options: PeerCallsOptions;
  /** When each fault of the set-up was told last. */
  readonly #told = new Map<string, number>();

  constructor(options: PeerCallsOptions) {
    this.#options = options;
  }

  /** @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError. */
  async evaluate(call: ContractCall, deadline: Deadline): Promise<Buffer> {
    return this.#ask('evaluate', call, deadline, async (proposal, _peer, options) => {
      const result = await proposal.evaluate(options);
      this.#options.window.leave('well');
      return Buffer.from(result.buffer, result.byteOffset, result.byteLength);
    });
  }

  /**
   * The caller then has a place in the window, and gives it back.
   *
   * @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError.
   */
  endorse(call: ContractCall, deadline: Deadline): Promise<Endorsed> {
    return this.#ask('endorse', call, deadline, async (proposal, peer, options) => {
      const transaction = await proposal.endorse(options);
      return {
        transactionId: transaction.getTransactionId(),
        result: Buffer.from(transaction.getResult()),
        request: submitRequest(call.channel, transaction, peer),
        peer,
      };
    });
  }

  async #ask<Answer>(
    phase: 'evaluate' | 'endorse',
    call: ContractCall,
    deadline: Deadline,
    run: (proposal: Proposal, peer: PeerGateway, options: { deadline: number }) => Promise<Answer>,
  ): Promise<Answer> {
    const { window, peers, observer, now, deadlinesMs } = this.#options;
    let failures = 0;
    const tried = new Set<string>();
    const misconfigured = new Map<string, FabricReason>();
    for (let attempt = 0; ; attempt += 1) {
      const place = window.enter(deadline.signal);
      if (place !== undefined) await place;
      const startedAtMs = now();
      let peer: PeerGateway | undefined;
      try {
        peer = peers.pick(tried);
        // A peer that hangs must leave the next one time to answer.
        const shareMs = (deadline.atMs - startedAtMs) / (failures + 1 < peers.count ? 2 : 1);
        const options = { deadline: startedAtMs + Math.min(deadlinesMs[phase], shareMs) };
        const [proposal, asked] = [proposalOf(call, peer), peer];
        const answer = await inSpan(SPANS[phase], () => run(proposal, asked, options));
        peers.answered(peer.endpoint);
        observer.phase?.(phase, true, now() - startedAtMs);
        return answer;
      } catch (error) {
        const verdict = error instanceof GatewayError ? askVerdict(error) : undefined;
        window.leave(leavingOf(verdict));
        observer.phase?.(phase, verdict?.kind === 'refused', now() - startedAtMs);
        if (peer === undefined || !(error instanceof GatewayError) || verdict === undefined) throw error;
        const found = peers.judged(peer.endpoint, verdict);
        if (found.kind === 'misconfigured') {
          misconfigured.set(peer.endpoint, found.reason);
          this.#tellMisconfigured(call, peer.endpoint, found.reason, found.message);
        }
        if (found.kind !== 'overloaded') failures += 1;
        // Each is asked once before one is asked again.
        if (tried.add(peer.endpoint).size === peers.count) tried.clear();
        const isCertain = misconfigured.size === peers.count;
        const [told] = misconfigured.values();
        await this.#beforeNext(found, { phase, attempt, failures, deadline, cause: error, isCertain, told });
      }
    }
  }

  /** In the peer's own words, once a minute for each kind: whoever must mend it finds them in the log. */
  #tellMisconfigured({ channel, chaincode }: ContractCall, endpoint: string, reason: string, message: string): void {
    const { now, observer } = this.#options;
    const what = `${endpoint} ${channel}/${chaincode}: ${reason}`;
    if (now() - (this.#told.get(what) ?? Number.NEGATIVE_INFINITY) < SAY_AGAIN_MS) return;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.set(what, now());
    observer.problem?.('misconfigured', `${what}: ${message.slice(0, MOST_WORDS)}`);
  }

  /** Waits where it is worth to ask again; else throws what it has come to. */
  async #beforeNext(verdict: AskVerdict, round: Round): Promise<void> {
    const { attempt, failures, deadline, cause, isCertain } = round;
    const { kind, message } = verdict;
    if (kind === 'refused') throw new ContractRefusedError(message, { cause });
    if (kind === 'misconfigured' && isCertain) throw new MisconfiguredError(message, { cause, reason: verdict.reason });
    const ended = (): Error =>
      'reason' in verdict
        ? new UnavailableError(message, { cause, reason: round.told ?? verdict.reason })
        : new OverloadedError(message, { cause });
    const { observer, peers, random } = this.#options;
    if (failures >= Math.max(ATTEMPTS, peers.count + 1)) throw ended();
    observer.retried?.(kind === 'overloaded' ? 'overload' : round.phase);
    // Another peer is asked at once; the same one a little later.
    const isSwitch = kind !== 'overloaded' && kind !== 'again' && failures < peers.count;
    const longestMs = Math.min(PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS);
    if (!isSwitch && !(await pause(longestMs * (0.5 + random() / 2), deadline))) throw ended();
    if (deadline.signal.aborted) throw ended();
  }
}

interface Round {
  readonly phase: 'evaluate' | 'endorse';
  readonly attempt: number;
  readonly failures: number;
  readonly deadline: Deadline;
  readonly cause: unknown;
  /** Every peer has said that the call cannot be meant; else one that is away may say otherwise. */
  readonly isCertain: boolean;
  /** What a peer has said of the set-up: it says more than that another one is silent. */
  readonly told: FabricReason | undefined;
}

function proposalOf({ channel, chaincode, contract, ...call }: ContractCall, { gateway }: PeerGateway): Proposal {
  return gateway
    .getNetwork(channel)
    .getContract(chaincode, contract)
    .newProposal(call.transaction, {
      arguments: [...call.args],
      ...(call.transient === undefined ? {} : { transientData: { ...call.transient } }),
      ...(call.endorsingOrganizations === undefined
        ? {}
        : { endorsingOrganizations: [...call.endorsingOrganizations] }),
    });
}

/** A refusal is an answer: the peer did its work. */
function leavingOf(verdict: AskVerdict | undefined): 'well' | 'badly' | 'overloaded' {
  if (verdict?.kind === 'overloaded') return 'overloaded';
  return verdict?.kind === 'refused' ? 'well' : 'badly';
}

import { GatewayError, type Proposal } from '@hyperledger/fabric-gateway';
import { inSpan } from '@sealgate/observability';
import { attestationOf, type Attestation } from './attestation.ts';
import type { CallWindow } from './call-window.ts';
import type { FabricDeadlines } from './connection-file.ts';
import type { ContractCall, EvaluateOptions } from './fabric-client.ts';
import { pause, type Deadline } from './deadline.ts';
import { ContractRefusedError, MisconfiguredError, OverloadedError, UnavailableError } from './fabric-errors.ts';
import type { FabricObserver } from './fabric-observer.ts';
import type { FaultLog } from './fault-log.ts';
import { askVerdict, type AskVerdict } from './fabric-status.ts';
import type { FabricReason } from './fabric-reasons.ts';
import type { GatewayPeers, PeerGateway } from './gateway-peers.ts';
import type { AcknowledgedHeights } from './peer-height.ts';
import { submitRequest } from './submit-request.ts';

interface PeerCallsOptions {
  readonly peers: GatewayPeers;
  readonly window: CallWindow;
  readonly heights: AcknowledgedHeights;
  readonly deadlinesMs: FabricDeadlines;
  readonly now: () => number;
  /** 0 <= x < 1. */
  readonly random: () => number;
  readonly observer: FabricObserver;
  readonly faults: FaultLog;
}

/**
 * An endorsed and signed transaction; it holds a slot in the window until `leave`. The gateway client's own objects are
 * dropped at once: hundreds of them waiting for blocks would be copied by every garbage collection.
 */
export interface Endorsed {
  readonly transactionId: string;
  /** The return value of the transaction function. */
  readonly result: Buffer;
  /** The signed Submit request. */
  readonly request: Buffer;
  readonly peer: PeerGateway;
}

/** The gateway protocol carries no trace context: a trace ends at the peer. */
const SPANS = {
  evaluate: { name: 'fabric evaluate', kind: 'client' },
  endorse: { name: 'fabric endorse', kind: 'client' },
} as const;

/** Maximum proposals while endorsers disagree or a chaincode is down. */
const ATTEMPTS = 4;
const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/** Evaluate and Endorse: neither orders anything, so both may be retried with a new proposal. */
export class PeerCalls {
  readonly #options: PeerCallsOptions;

  constructor(options: PeerCallsOptions) {
    this.#options = options;
  }

  /** @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError. */
  async evaluate(
    call: ContractCall,
    deadline: Deadline,
    mayBeOutdated: EvaluateOptions['mayBeOutdated'] = never,
  ): Promise<Buffer> {
    return this.#ask('evaluate', call, deadline, async (proposal, peer, options) => {
      const answer = await this.#current(call.channel, peer, {
        deadlineMs: options.deadline,
        ask: async (isAgain) => bufferOf(await (isAgain ? proposalOf(call, peer) : proposal).evaluate(options)),
        mayBeOutdated,
      });
      this.#options.window.leave('succeeded');
      return answer;
    });
  }

  /**
   * The caller then holds a slot in the window, and must release it.
   *
   * @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError.
   */
  endorse(call: ContractCall, deadline: Deadline): Promise<Endorsed> {
    return this.#ask('endorse', call, deadline, async (proposal, peer, options) => {
      const transaction = await this.#current(call.channel, peer, {
        deadlineMs: options.deadline,
        ask: (isAgain) => (isAgain ? proposalOf(call, peer) : proposal).endorse(options),
        // What the contract refuses may be accepted with the newest blocks. A transaction is judged again in its block.
        mayBeOutdated: (answer) => answer instanceof ContractRefusedError,
      });
      return {
        transactionId: transaction.getTransactionId(),
        result: Buffer.from(transaction.getResult()),
        request: submitRequest(call.channel, transaction, peer),
        peer,
      };
    });
  }

  /**
   * A read-only call endorsed by peers, for what they sign: nothing of it is submitted, so nothing is ordered.
   *
   * @throws ContractRefusedError, UnavailableError, OverloadedError, MisconfiguredError.
   */
  attest(
    call: ContractCall,
    deadline: Deadline,
    mayBeOutdated: NonNullable<EvaluateOptions['mayBeOutdated']>,
  ): Promise<Attestation> {
    return this.#ask('endorse', call, deadline, async (proposal, peer, options) => {
      const attestation = await this.#current(call.channel, peer, {
        deadlineMs: options.deadline,
        ask: async (isAgain) => {
          const asked = isAgain ? proposalOf(call, peer) : proposal;
          return attestationOf(asked, await asked.endorse(options));
        },
        mayBeOutdated: (answer) => mayBeOutdated(answer instanceof ContractRefusedError ? answer : answer.result),
      });
      this.#options.window.leave('succeeded');
      return attestation;
    });
  }

  /** An answer that counts: one that newer blocks cannot change, or of a peer that has them. */
  async #current<Answer>(channel: string, peer: PeerGateway, asking: Asking<Answer>): Promise<Answer> {
    const { heights } = this.#options;
    const delivered = heights.deliveredBy(channel, peer.endpoint);
    const { deadlineMs, ask, mayBeOutdated } = asking;
    const first = await outcomeOf(ask(false));
    if (!mayBeOutdated(first.refused ?? first.answer!)) return told(first);
    const reached = await heights.isReachedBy(peer, { channel, delivered, deadlineMs });
    if (reached === 'no') throw new PeerBehindError('The peer lacks a block with an acknowledged write.');
    return reached === 'before' ? told(first) : ask(true);
  }

  async #ask<Answer>(
    phase: 'evaluate' | 'endorse',
    call: ContractCall,
    deadline: Deadline,
    run: (proposal: Proposal, peer: PeerGateway, options: { deadline: number }) => Promise<Answer>,
  ): Promise<Answer> {
    const { window, peers, observer, now, deadlinesMs } = this.#options;
    let failures = 0;
    /** Of the configuration, or that a peer is behind: more specific than another peer's silence. */
    const reasons = new Set<FabricReason>();
    const tried = new Set<string>();
    const misconfigured = new Set<string>();
    /** What peers that answer said of others: logged if the call fails for it. */
    const others: (() => void)[] = [];
    for (let attempt = 0; ; attempt += 1) {
      const place = window.enter(deadline.signal);
      if (place !== undefined) await place;
      const startedAtMs = now();
      let peer: PeerGateway | undefined;
      try {
        peer = peers.pick({ tried, as: call.identity });
        // A peer that hangs must leave time for the next one.
        const shareMs = (deadline.atMs - startedAtMs) / (failures + 1 < peers.count ? 2 : 1);
        const options = { deadline: startedAtMs + Math.min(deadlinesMs[phase], shareMs) };
        const [proposal, asked] = [proposalOf(call, peer), peer];
        const answer = await inSpan(SPANS[phase], () => run(proposal, asked, options));
        peers.answered(peer.endpoint);
        observer.phase?.(phase, true, now() - startedAtMs);
        return answer;
      } catch (error) {
        const verdict = verdictOf(error, call, peer);
        window.leave(callOutcome(verdict));
        observer.phase?.(phase, verdict?.kind === 'refused', now() - startedAtMs);
        if (peer === undefined || verdict === undefined) throw error;
        const found = peers.recordVerdict(peer.endpoint, verdict);
        if (isTelling(found)) reasons.add(found.reason);
        if (found.kind === 'misconfigured') misconfigured.add(peer.endpoint);
        others.push(this.#report(found, call, peer));
        if (found.kind !== 'overloaded') failures += 1;
        // Each peer is asked once before one is asked again.
        if (tried.add(peer.endpoint).size === peers.count) tried.clear();
        const isCertain = misconfigured.size === peers.count;
        const [knownReason] = reasons;
        const onEnded = () => others.forEach((report) => report());
        await this.#beforeNext(found, {
          ...{ phase, attempt, failures, deadline, isCertain, knownReason, onEnded },
          cause: error,
        });
      }
    }
  }

  /** Logs what an operator must fix; returns what logs the rest, if the call fails for it. */
  #report(found: AskVerdict, { channel, chaincode }: ContractCall, { endpoint, identity }: PeerGateway): () => void {
    const { faults } = this.#options;
    const place = `${endpoint} ${channel}/${chaincode} as ${identity.name}`;
    if (found.kind === 'misconfigured') faults.report('misconfigured', `${place}: ${found.reason}`, found.message);
    return () => {
      if (found.kind === 'elsewhere' || found.kind === 'again') faults.report(found.reason, place, found.message);
    };
  }

  /** Waits if a retry may help; otherwise throws the final error. */
  async #beforeNext(verdict: AskVerdict, round: Round): Promise<void> {
    const { attempt, failures, deadline, cause, isCertain } = round;
    const { kind, message } = verdict;
    if (kind === 'refused') throw new ContractRefusedError(message, { cause });
    if (kind === 'misconfigured' && isCertain) throw new MisconfiguredError(message, { cause, reason: verdict.reason });
    const ended = (): Error => {
      round.onEnded();
      return 'reason' in verdict
        ? new UnavailableError(message, { cause, reason: round.knownReason ?? verdict.reason })
        : new OverloadedError(message, { cause });
    };
    const { observer, peers, random } = this.#options;
    if (failures >= Math.max(ATTEMPTS, peers.count + 1)) throw ended();
    observer.retried?.(kind === 'overloaded' ? 'overload' : round.phase);
    // Another peer is asked at once; the same one after a backoff.
    const isSwitch = kind !== 'overloaded' && kind !== 'again' && failures < peers.count;
    const longestMs = Math.min(PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS);
    if (!isSwitch && !(await pause(longestMs * (0.5 + random() / 2), deadline))) throw ended();
    if (deadline.signal.aborted) throw ended();
  }
}

interface Asking<Answer> {
  readonly deadlineMs: number;
  readonly ask: (isAgain: boolean) => Promise<Answer>;
  readonly mayBeOutdated: (answer: Answer | ContractRefusedError) => boolean;
}

/** The peer answered, but without blocks that this service has told its callers of. */
class PeerBehindError extends Error {
  override readonly name = 'PeerBehindError';
}

const never = (): boolean => false;

interface Outcome<Answer> {
  readonly answer?: Answer;
  readonly refused?: ContractRefusedError;
  readonly error?: unknown;
}

/** A refusal of the contract is an answer, too. */
async function outcomeOf<Answer>(asked: Promise<Answer>): Promise<Outcome<Answer>> {
  try {
    return { answer: await asked };
  } catch (error) {
    const verdict = error instanceof GatewayError ? askVerdict(error) : undefined;
    if (verdict?.kind !== 'refused') throw error;
    return { error, refused: new ContractRefusedError(verdict.message, { cause: error }) };
  }
}

function told<Answer>({ answer, refused, error }: Outcome<Answer>): Answer {
  if (refused !== undefined) throw error;
  return answer!;
}

const isTelling = (verdict: AskVerdict): verdict is Extract<AskVerdict, { readonly reason: FabricReason }> =>
  'reason' in verdict && (verdict.kind === 'misconfigured' || verdict.reason === 'peers_behind');

/** Undefined for what no peer said. */
function verdictOf(error: unknown, call: ContractCall, peer: PeerGateway | undefined): AskVerdict | undefined {
  if (error instanceof PeerBehindError) return { kind: 'elsewhere', message: error.message, reason: 'peers_behind' };
  if (!(error instanceof GatewayError) || peer === undefined) return undefined;
  return ofOrganizations(askVerdict(error), organizationsOf(call, peer));
}

/** Of a call that names organisations, peers say that the contract is missing if none of theirs can be reached. */
function ofOrganizations(verdict: AskVerdict, organizations: readonly string[] | undefined): AskVerdict {
  const isTheirs = verdict.kind === 'misconfigured' && verdict.reason === 'contract_missing';
  if (organizations === undefined || !isTheirs) return verdict;
  const message = `no peer of ${organizations.join(', ')} with the contract can be reached: ${verdict.message}`;
  return { kind: 'elsewhere', message, reason: 'endorsers_away' };
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

interface Round {
  readonly phase: 'evaluate' | 'endorse';
  readonly attempt: number;
  readonly failures: number;
  readonly deadline: Deadline;
  readonly cause: unknown;
  /** Every peer reported the call as misconfigured; otherwise one that is away may say otherwise. */
  readonly isCertain: boolean;
  /** A peer's reason about the configuration, or that it is behind: more specific than another peer's silence. */
  readonly knownReason: FabricReason | undefined;
  /** Called before the call ends as unavailable or overloaded. */
  readonly onEnded: () => void;
}

/**
 * A gateway peer passes transient data to peers of its own organisation, which after a fail-over is another one, and to
 * those that discovery adds: so a call with private data names the caller's organisation unless it names others.
 */
function organizationsOf(call: ContractCall, { identity }: PeerGateway): readonly string[] | undefined {
  const { organizations, transient, isPrivate = transient !== undefined } = call;
  return organizations ?? (isPrivate ? [identity.mspId] : undefined);
}

function proposalOf(call: ContractCall, peer: PeerGateway): Proposal {
  const { args, transient } = call;
  const organizations = organizationsOf(call, peer);
  const contract = peer.gateway.getNetwork(call.channel).getContract(call.chaincode, call.contract);
  return contract.newProposal(call.transaction, {
    arguments: [...args],
    ...(transient === undefined ? {} : { transientData: transient }),
    ...(organizations === undefined ? {} : { endorsingOrganizations: [...organizations] }),
  });
}

/** A refusal is an answer: the peer processed the call. */
function callOutcome(verdict: AskVerdict | undefined): 'succeeded' | 'failed' | 'overloaded' {
  if (verdict?.kind === 'overloaded') return 'overloaded';
  return verdict?.kind === 'refused' ? 'succeeded' : 'failed';
}

import assert from 'node:assert/strict';
import type { Database } from '@sealgate/storage';
import type { Attestation } from './attestation.ts';
import { ChannelBlocks } from './channel-blocks.ts';
import type { CallWindow } from './call-window.ts';
import type { FabricConnection } from './connection-file.ts';
import { deadlineIn, orEnded, pause, type Deadline } from './deadline.ts';
import type {
  BlockReader,
  Committed,
  ContractCall,
  EvaluateOptions,
  FabricClient,
  FabricHealth,
  SentTransaction,
  Settlement,
  SubmitOptions,
} from './fabric-client.ts';
import {
  ClaimTakenError,
  ContractRefusedError,
  FabricError,
  InvalidatedError,
  MisconfiguredError,
  OverloadedError,
  UnavailableError,
  UnknownOutcomeError,
} from './fabric-errors.ts';
import type { FabricObserver, FabricOutcome, FabricState } from './fabric-observer.ts';
import type { FaultLog } from './fault-log.ts';
import { FABRIC_REASONS, type FabricReason } from './fabric-reasons.ts';
import type { GatewayPeers } from './gateway-peers.ts';
import type { Identities } from './identities.ts';
import type { CredentialsState } from './identity-files.ts';
import type { JournalKeeper } from './journal-keeper.ts';
import type { Journal } from './journal.ts';
import type { AcknowledgedHeights } from './peer-height.ts';
import type { PeerCalls } from './peer-calls.ts';
import type { Settler } from './settler.ts';
import type { Submission } from './submission.ts';

interface GatewayClientParts {
  readonly connection: FabricConnection;
  readonly sql: Database;
  readonly identities: Identities;
  readonly peers: GatewayPeers;
  readonly window: CallWindow;
  readonly journal: Journal;
  readonly settler: Settler;
  readonly calls: PeerCalls;
  readonly submission: Submission;
  readonly heights: AcknowledgedHeights;
  readonly keeper: JournalKeeper;
  readonly now: () => number;
  readonly observer: FabricObserver;
  readonly faults: FaultLog;
}

/** Below the one second limit of a probe: reports the state of other contracts even if one peer is silent. */
const HEALTH_WITHIN_MS = 850;
/** A peer that has not committed an acknowledged block by then is behind. */
const LAG_WITHIN_MS = 600;
const CLOSE_WITHIN_MS = 5000;
const POLL_MS = 200;
const REFERENCE_MAX_LENGTH = 200;
const NOTE_MAX_LENGTH = 65_536;

/** Combines the parts into a client: sets deadlines and counts outcomes. */
export class GatewayClient implements FabricClient {
  readonly #parts: GatewayClientParts;
  readonly #blocks = new Map<string, ChannelBlocks>();
  #underWay = 0;
  #closing = false;

  constructor(parts: GatewayClientParts) {
    this.#parts = parts;
  }

  async submit(call: ContractCall, options: SubmitOptions = {}): Promise<Committed> {
    const { submission, connection, observer } = this.#parts;
    this.#check(call, options);
    const { identity = connection.defaultIdentity } = call;
    if (identity === undefined) throw new MisconfiguredError('The connection has no default identity to sign as.');
    const ms = options.answerWithinMs ?? connection.deadlinesMs.answer;
    return this.#within(ms, options.signal, async (deadline) => {
      try {
        const committed = await submission.run({ ...call, identity }, options, deadline);
        observer.outcome?.('committed');
        return committed;
      } catch (error) {
        const outcome = outcomeOf(error);
        if (outcome !== undefined) observer.outcome?.(outcome);
        throw error;
      }
    });
  }

  async evaluate(call: ContractCall, { signal, mayBeOutdated }: EvaluateOptions = {}): Promise<Buffer> {
    const { calls, connection } = this.#parts;
    this.#check(call, {});
    return this.#within(connection.deadlinesMs.evaluate, signal, (deadline) =>
      calls.evaluate(this.#signed(call), deadline, mayBeOutdated),
    );
  }

  async attest(call: ContractCall, { signal, mayBeOutdated = never }: EvaluateOptions = {}): Promise<Attestation> {
    const { calls, connection } = this.#parts;
    this.#check(call, {});
    return this.#within(connection.deadlinesMs.endorse, signal, (deadline) =>
      calls.attest(this.#signed(call), deadline, mayBeOutdated),
    );
  }

  /** Without a default, what orders nothing is signed as the first identity. */
  #signed(call: ContractCall): ContractCall {
    return { ...call, identity: call.identity ?? this.#parts.connection.defaultIdentity };
  }

  async settle(
    transactionId: string,
    { waitMs = 0 }: { readonly waitMs?: number } = {},
  ): Promise<Settlement | undefined> {
    const { settler, journal, submission, now } = this.#parts;
    const deadline = deadlineIn(waitMs, now(), undefined);
    try {
      for (;;) {
        const open = settler.find(transactionId);
        const here = open === undefined ? undefined : await orEnded(open.settlement, deadline);
        if (open !== undefined && here?.status === 'committed') await submission.acknowledge(open.channel, here);
        if (here !== undefined) return here;
        const there = open === undefined ? await journal.read(transactionId) : undefined;
        if (open === undefined && there?.status !== 'unknown') return there;
        // Another process has it, or its end is being written.
        if (!(await pause(POLL_MS, deadline))) return { status: 'unknown', transactionId };
      }
    } finally {
      deadline.clear();
    }
  }

  findGroup(group: string): Promise<readonly SentTransaction[]> {
    return this.#parts.journal.readGroup(group);
  }

  withdraw(transactionId: string, channel: string): Promise<boolean> {
    return this.#parts.journal.withdraw(transactionId, channel);
  }

  credentials(): CredentialsState {
    return this.#parts.identities.state();
  }

  async health(calls: readonly ContractCall[]): Promise<FabricHealth> {
    const { sql, identities } = this.#parts;
    const credentials = this.credentials();
    if (!credentials.ok) {
      const contracts = calls.map((call) => contractHealth(call, 'identity_unusable'));
      return { ok: false, problem: credentials.problems.join('; '), contracts };
    }
    const journal = sql.ping(HEALTH_WITHIN_MS).then(
      () => [],
      () => ['journal_away'] as const,
    );
    const untilMs = this.#parts.now() + LAG_WITHIN_MS;
    const lagging = new Map(
      [...new Set(calls.map(({ channel }) => channel))].map(
        (channel) => [channel, this.#parts.heights.areAllBehind(channel, untilMs)] as const,
      ),
    );
    const contracts = await Promise.all(
      calls.map(async (call) => {
        const asked = await this.#askContract(call);
        if (!asked.ok || (await lagging.get(call.channel)) !== true) return asked;
        this.#parts.faults.report('peers_behind', call.channel, FABRIC_REASONS.peers_behind);
        return contractHealth(call, 'peers_behind');
      }),
    );
    const away = await journal;
    const isAnyWell = contracts.length === 0 || contracts.some(({ ok }) => ok);
    if (away.length === 0 && isAnyWell) return { ok: true, problem: waitingText(identities.gone), contracts };
    const reasons = new Set([...away, ...(isAnyWell ? [] : contracts.flatMap(({ reason }) => reason ?? []))]);
    return { ok: false, problem: [...reasons].map((reason) => FABRIC_REASONS[reason]).join('; '), contracts };
  }

  state(): FabricState {
    const { window, settler } = this.#parts;
    return {
      calls: window.active,
      window: window.size,
      queued: window.queued,
      queueAgeMs: window.queueAgeMs,
      unsettled: settler.unsettled,
      oldestUnsettledMs: settler.oldestMs,
      streams: settler.liveStreams,
    };
  }

  blocks(channel: string): BlockReader {
    const { peers, now, observer } = this.#parts;
    const onLost = (detail: string) => observer.problem?.('stream_lost', `${channel}: ${detail}`);
    const blocks = this.#blocks.get(channel) ?? new ChannelBlocks({ channel, peers, now, onLost });
    this.#blocks.set(channel, blocks);
    return blocks;
  }

  async close(deadlineMs = CLOSE_WITHIN_MS): Promise<void> {
    const { submission, settler, keeper, peers, now } = this.#parts;
    this.#closing = true;
    const deadline = deadlineIn(deadlineMs, now(), undefined);
    try {
      await orEnded(Promise.all([...this.#blocks.values()].map((blocks) => blocks.close())), deadline);
      while (this.#underWay > 0 && (await pause(10, deadline)));
      await orEnded(submission.drained(), deadline);
      await orEnded(settler.close(), deadline);
      await orEnded(keeper.stop(), deadline);
    } finally {
      deadline.clear();
      peers.close();
    }
  }

  /** @throws MisconfiguredError before anything is sent. */
  #check(call: ContractCall, options: SubmitOptions): void {
    const { channels, limits } = this.#parts.connection;
    if (!channels.some(({ name }) => name === call.channel)) {
      throw new MisconfiguredError(`The connection has no channel ${call.channel}.`);
    }
    assert(
      options.claim === undefined || options.reference === undefined,
      'A claim and a reference exclude each other.',
    );
    checkSizes(call, options, limits.callBytes);
  }

  async #within<Value>(
    ms: number,
    signal: AbortSignal | undefined,
    work: (deadline: Deadline) => Promise<Value>,
  ): Promise<Value> {
    if (this.#closing) throw new UnavailableError('The service is being stopped.');
    const deadline = deadlineIn(ms, this.#parts.now(), signal);
    this.#underWay += 1;
    try {
      return await work(deadline);
    } finally {
      this.#underWay -= 1;
      deadline.clear();
    }
  }

  async #askContract(call: ContractCall): Promise<FabricHealth['contracts'][number]> {
    try {
      await this.#within(HEALTH_WITHIN_MS, undefined, (deadline) => this.#parts.calls.evaluate(call, deadline));
    } catch (error) {
      if (!(error instanceof FabricError)) throw error;
      // Still an answer: of a contract that refused, or of a busy peer.
      const isAnswer = error instanceof OverloadedError || error instanceof ContractRefusedError;
      if (!isAnswer) return contractHealth(call, error.reason ?? 'no_answer');
    }
    return contractHealth(call, null);
  }
}

/** For operators: work is not signed as another identity than the one that it began with. */
const waitingText = (gone: readonly string[]): string | null =>
  gone.length === 0
    ? null
    : `work waits for identities that the connection file does not have: ${gone.join(', ')}; put them back, or list them in retired`;

const never = (): boolean => false;

function contractHealth({ channel, chaincode, organizations }: ContractCall, reason: FabricReason | null) {
  const of = reason === 'endorsers_away' && organizations !== undefined ? `: ${organizations.join(', ')}` : '';
  const detail = reason === null ? null : FABRIC_REASONS[reason] + of;
  return { channel, chaincode, ok: reason === null, reason, detail };
}

/** @throws MisconfiguredError: no peer would accept it, now or later. */
function checkSizes({ args, transient = {} }: ContractCall, { reference, note }: SubmitOptions, most: number): void {
  let bytes = 0;
  for (const arg of [...args, ...Object.values(transient)])
    bytes += typeof arg === 'string' ? Buffer.byteLength(arg) : arg.byteLength;
  if (bytes > most) throw new MisconfiguredError(`The arguments are ${bytes} bytes; a call takes ${most}.`);
  checkText(reference, 'reference', REFERENCE_MAX_LENGTH);
  checkText(note, 'note', NOTE_MAX_LENGTH);
}

/** Limits of the journal's columns. @throws RangeError. */
function checkText(text: string | undefined, name: string, maxLength: number): void {
  if (text === undefined) return;
  if (text.length > maxLength) throw new RangeError(`A ${name} is ${maxLength} characters at most.`);
  if (text.includes('\0')) throw new RangeError(`A ${name} must not contain U+0000.`);
}

const OUTCOMES = [
  [ContractRefusedError, 'refused'],
  [UnavailableError, 'unavailable'],
  [OverloadedError, 'overloaded'],
  [MisconfiguredError, 'misconfigured'],
  [InvalidatedError, 'invalidated'],
  [UnknownOutcomeError, 'unknown'],
  [ClaimTakenError, 'refused'],
] as const satisfies readonly (readonly [new (...args: never[]) => FabricError, FabricOutcome])[];

function outcomeOf(error: unknown): FabricOutcome | undefined {
  return OUTCOMES.find(([kind]) => error instanceof kind)?.[1];
}

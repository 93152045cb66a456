import type { KeyedHasher } from '@sealgate/auth';
import { AppError, type Fault } from '@sealgate/errors';
import { claimOf, parseIdempotencyKey, type Claim, type InFlight } from '@sealgate/idempotency';
import { canonical } from '@sealgate/json';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { writeOptions, type WriteOrder } from './asset.ts';
import { signedBy, type AssetLedger } from './asset-ledger.ts';
import { failed, NOT_ATTEMPTED, OUTAGES, type AssetResult } from './asset-result.ts';
import type { PeerCaller } from './caller.ts';
import type { JobStore, KeptAnswer, KnownClaim } from './jobs.ts';
import type { Mappings } from './mapping.ts';
import { planBatches, type Plan } from './plan-batches.ts';
import { renderSummary } from './render-summary.ts';
import { recallResults, runPlan, type RunOutcome } from './run-plan.ts';
import { splitOrder } from './transient-members.ts';

/** A write with valid syntax. */
export interface SyncRequest {
  readonly caller: PeerCaller;
  /** `Prefer: respond-async`. */
  readonly prefersAsync: boolean;
  /** The values of the Idempotency-Key header as received. */
  readonly idempotencyKeys: readonly string[];
  readonly method: string;
  readonly path: string;
  readonly body: WriteOrder;
  /** The same as JSON text. */
  readonly rawBody: Buffer;
  /** The body of the response once all results are known, or why nothing was written. Default: a summary. */
  readonly answerOf?: (results: readonly AssetResult[]) => string | AppError;
}

export type SyncAnswer = KeptAnswer & { readonly replayed: boolean };

/** What an answer says, for the log and for metrics. */
export function outcomeOf({
  status,
  isAsync,
  replayed,
}: Pick<SyncAnswer, 'status' | 'isAsync' | 'replayed'>): 'done' | 'pending' | 'queued' | 'replayed' {
  if (replayed) return 'replayed';
  if (isAsync) return 'queued';
  return status === 202 ? 'pending' : 'done';
}

export type AnswerSync = (request: SyncRequest) => Promise<SyncAnswer>;

interface AnswerSyncPorts {
  readonly ledger: AssetLedger;
  readonly mappings: Mappings;
  readonly jobs: JobStore;
  readonly inFlight: InFlight<SyncAnswer>;
  readonly fingerprints: KeyedHasher;
  readonly newJobId: () => string;
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
  readonly batchMaxBytes: number;
  readonly batchesAtOnce: number;
  /** Time limit for starting batches of one request; later ones are not attempted. */
  readonly answerWithinMs: number;
  /** Called for each response, with whether it was repeated. */
  readonly onAnswer: (answer: SyncAnswer) => void;
}

const WAIT_MS = 250;
const LOOK_EVERY_MS = 50;
const MOST_FAULTS = 100;

/**
 * Answers one write: idempotency, then mapping, then the ledger. A request that must be known later has a row: one with
 * an Idempotency-Key, one with `respond-async`, and one whose outcome is unknown when it is answered.
 *
 * @throws AppError INVALID_IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_IN_PROGRESS, UNKNOWN_CHAINCODE,
 * LEDGER_UNAVAILABLE, OVERLOADED, UNAVAILABLE: nothing was sent by this request. Those of `answerOf`: nothing was
 * written. OUTCOME_UNKNOWN: an earlier request with this key may have written assets, and what became of them could not be
 * learnt now.
 */
export function answerSync(ports: AnswerSyncPorts): AnswerSync {
  return async (request) => {
    const key = parseIdempotencyKey(request.idempotencyKeys);
    const answer = key === undefined ? await fresh(ports, request) : await keyed(ports, request, key);
    ports.onAnswer(answer);
    return answer;
  };
}

async function fresh(ports: AnswerSyncPorts, request: SyncRequest): Promise<SyncAnswer> {
  const plan = planOf(ports, request);
  const refusal = unmappedRefusal(request, plan);
  if (refusal !== undefined) throw refusal;
  const jobId = ports.newJobId();
  if (request.prefersAsync) return enqueue(ports, request, jobId);
  const written = await write(ports, request, { plan, jobId, isNew: true });
  if (written instanceof AppError) throw written;
  return { ...written, replayed: false };
}

async function keyed(ports: AnswerSyncPorts, request: SyncRequest, key: string): Promise<SyncAnswer> {
  const { method, path, body, caller } = request;
  const canonicalBody = Buffer.from(canonical(body));
  const scope = ['assets', caller.familyId];
  const claim = claimOf({ hasher: ports.fingerprints, scope, key, method, path, body: canonicalBody });
  const name = claim.claim.toString('latin1');
  const giveUpAtMs = ports.now() + WAIT_MS;
  const work = () => lead(ports, request, { claim, giveUpAtMs });
  const { value, joined } = await ports.inFlight.run(name, claim.fingerprint, work);
  return joined ? { ...value, replayed: true } : value;
}

async function lead(
  ports: AnswerSyncPorts,
  request: SyncRequest,
  { claim, giveUpAtMs }: { readonly claim: Claim; readonly giveUpAtMs: number },
): Promise<SyncAnswer> {
  const plan = planOf(ports, request);
  const refusal = unmappedRefusal(request, plan);
  for (;;) {
    const known = refusal === undefined ? await begin(ports, request, claim) : await ports.jobs.look(claim);
    if (known === undefined) throw refusal ?? new Error('A claim is either known or begun.');
    if (known.kind === 'begun') {
      // What an earlier request began is continued as its identity, whoever signs for the caller now.
      const caller = { ...request.caller, identity: known.identity };
      return answerBegun(ports, { ...request, caller }, { ...known, plan, claim });
    }
    const answer = replayOf(known);
    if (answer !== undefined) return answer;
    if (ports.now() >= giveUpAtMs) throw inProgress();
    await ports.pause(LOOK_EVERY_MS);
  }
}

function begin(ports: AnswerSyncPorts, { caller }: SyncRequest, claim: Claim) {
  const { familyId, identity } = caller;
  return ports.jobs.begin({ jobId: ports.newJobId(), familyId, identity, claim });
}

/** Undefined: the first request is still running. */
function replayOf(known: KnownClaim): SyncAnswer | undefined {
  if (known.kind === 'reused') {
    throw new AppError('IDEMPOTENCY_KEY_REUSED', 'The Idempotency-Key was used before with another request.');
  }
  return known.kind === 'kept' ? { ...known.answer, replayed: true } : undefined;
}

function inProgress(): AppError {
  const detail = 'Another request with this key is still running.';
  return new AppError('IDEMPOTENCY_IN_PROGRESS', detail, { retryAfterSeconds: 1 });
}

interface Begun {
  readonly plan: Plan;
  readonly jobId: string;
  /** False: an earlier request, perhaps of a process that died, may have sent something under this job id. */
  readonly isNew: boolean;
  readonly claim: Claim;
}

/**
 * Only a claim that this request made, and before it sent anything, is removed when it fails. Any other one stays until
 * it is answered: it leads the next request to what was sent.
 */
async function answerBegun(ports: AnswerSyncPorts, request: SyncRequest, begun: Begun): Promise<SyncAnswer> {
  const { jobs } = ports;
  const { jobId, claim, isNew } = begun;
  let answer: KeptAnswer | AppError;
  try {
    answer = request.prefersAsync ? await enqueued(ports, request, jobId) : await write(ports, request, begun);
  } catch (error) {
    // Unexpected: something may have been sent.
    await jobs.leave(jobId);
    throw error;
  }
  if (answer instanceof AppError) {
    await (isNew && answer.code !== 'OUTCOME_UNKNOWN' ? jobs.forget(jobId) : jobs.leave(jobId));
    throw answer;
  }
  if (answer.status === 202) return { ...answer, replayed: false };
  // The assets are written whatever happens to the row; the same request finds them again.
  const isOurs = await jobs.keep(answer).catch(() => true);
  const theirs = isOurs ? undefined : await jobs.look(claim).catch(() => undefined);
  return theirs?.kind === 'kept' ? { ...theirs.answer, replayed: false } : { ...answer, replayed: false };
}

async function enqueue(ports: AnswerSyncPorts, request: SyncRequest, jobId: string): Promise<SyncAnswer> {
  const answer = await enqueued(ports, request, jobId);
  if (answer instanceof AppError) throw answer;
  return { ...answer, replayed: false };
}

/** An AppError is returned if the job is certainly not stored. */
async function enqueued(ports: AnswerSyncPorts, request: SyncRequest, jobId: string): Promise<KeptAnswer | AppError> {
  const answer: KeptAnswer = { jobId, status: 202, body: `{"jobId":"${jobId}","status":"queued"}`, isAsync: true };
  try {
    await ports.jobs.enqueue({ ...jobOf(ports, request, jobId), results: [], answer });
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  return answer;
}

function jobOf({ mappings }: AnswerSyncPorts, { caller, body, rawBody }: SyncRequest, jobId: string) {
  const split = splitOrder(body, mappings) ?? { body: rawBody.toString('utf8'), transient: undefined };
  return { jobId, familyId: caller.familyId, identity: caller.identity, ...split };
}

interface Writing {
  readonly plan: Plan;
  readonly jobId: string;
  readonly isNew: boolean;
  readonly claim?: Claim;
}

/**
 * Sends everything that no earlier request has sent, and returns the results known by the deadline. An AppError is
 * returned, not thrown, if this request has sent nothing or the outcome of an earlier one is not known.
 */
async function write(ports: AnswerSyncPorts, request: SyncRequest, writing: Writing): Promise<KeptAnswer | AppError> {
  const { plan, jobId, isNew } = writing;
  const ledger = signedBy(ports.ledger, request.caller.identity);
  const endAtMs = ports.now() + ports.answerWithinMs;
  const known = isNew ? [] : await recalled(ledger, writing);
  if (known instanceof AppError) return known;
  // One after another means that nothing is sent while the outcome of an earlier batch is open.
  const { continueOnError } = writeOptions(request.body);
  const mayBegin = continueOnError || known.every((result) => result?.state !== 'pending');
  const run = {
    ledger,
    jobId,
    continueOnError,
    batchesAtOnce: ports.batchesAtOnce,
    mayGoOn: () => mayBegin && ports.now() < endAtMs,
  };
  const outcome = await runPlan(plan, run, known);
  const { results, halted } = outcome;
  // An earlier request may have sent what has no result, now or later: "not attempted" would be untrue.
  const isUntold = results.some((result) => result === undefined);
  if (outcome.lost === 'unsure' || (!isNew && isUntold)) return outcomeUnknown();
  const refusal = nothingSent(outcome);
  if (refusal !== undefined) return refusal;
  const all = results.map((result, index): AssetResult => result ?? notAttempted(halted.get(index)));
  const isOpen = all.some(({ state }) => state === 'pending');
  const body = isOpen ? renderSummary(plan.ids, all, jobId) : renderDone(request, plan, all);
  if (body instanceof AppError) return body;
  const answer: KeptAnswer = { jobId, status: isOpen ? 202 : 200, body, isAsync: false };
  if (isOpen) await ports.jobs.follow({ ...jobOf(ports, request, jobId), results: all, answer });
  return answer;
}

function renderDone({ answerOf }: SyncRequest, { ids }: Plan, results: readonly AssetResult[]): string | AppError {
  return answerOf === undefined ? renderSummary(ids, results) : answerOf(results);
}

/** The results of what earlier requests with the claim have sent. */
async function recalled(ledger: AssetLedger, writing: Writing): Promise<(AssetResult | undefined)[] | AppError> {
  const known: (AssetResult | undefined)[] = [];
  try {
    await recallResults(ledger, writing, known);
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error;
    return outcomeUnknown(error);
  }
  return known;
}

/** Undefined if something was sent, whatever its outcome. */
function nothingSent({ lost, halted, sent }: RunOutcome): AppError | undefined {
  const [whyHalted] = halted.values();
  const outage = lost === undefined && whyHalted !== undefined ? 'unavailable' : lost;
  if (sent || (outage !== 'unavailable' && outage !== 'overloaded')) return undefined;
  const { code, detail } = OUTAGES[outage];
  return new AppError(code, lost === undefined ? (whyHalted ?? detail) : detail, { retryAfterSeconds: 1 });
}

function outcomeUnknown(cause?: unknown): AppError {
  const detail = 'An earlier request with this key may have written assets; send the same request again to learn it.';
  return new AppError('OUTCOME_UNKNOWN', detail, { retryAfterSeconds: 1, cause });
}

const notAttempted = (why: string | undefined): AssetResult =>
  why === undefined ? NOT_ATTEMPTED : failed('NOT_ATTEMPTED', why, true);

function planOf({ mappings, batchMaxBytes }: AnswerSyncPorts, { body }: SyncRequest): Plan {
  const { batchSize } = writeOptions(body);
  return planBatches(body.assets, mappings, { batchSize, maxBytes: batchMaxBytes });
}

/** Without `continueOnError`, a request with an unmapped type is rejected as a whole. */
function unmappedRefusal({ body }: SyncRequest, { unmapped }: Plan): AppError | undefined {
  if (writeOptions(body).continueOnError || unmapped.length === 0) return undefined;
  const detail = 'No chaincode is mapped for this type.';
  const faults = unmapped
    .slice(0, MOST_FAULTS)
    .map((index): Fault => ({ in: 'body', pointer: `/assets/${index}/type`, detail }));
  return new AppError('UNKNOWN_CHAINCODE', 'No chaincode is mapped for a type of the request; nothing was written.', {
    faults,
  });
}

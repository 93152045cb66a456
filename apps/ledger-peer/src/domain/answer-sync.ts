import type { KeyedHasher } from '@sealgate/auth';
import { AppError, type Fault } from '@sealgate/errors';
import { claimOf, parseIdempotencyKey, type InFlight } from '@sealgate/idempotency';
import { canonical, type JsonValue } from '@sealgate/json';
import type { AssetLedger } from './asset-ledger.ts';
import { failed, NOT_ATTEMPTED, OUTAGES, type AssetResult } from './asset-result.ts';
import type { PeerCaller } from './caller.ts';
import type { JobStore, KeptAnswer, KnownClaim, RequestClaim } from './jobs.ts';
import type { Mappings } from './mapping.ts';
import { planBatches, type Plan, type SentAsset } from './plan-batches.ts';
import { renderSummary } from './render-summary.ts';
import { runPlan } from './run-plan.ts';

/** A write with valid syntax. */
export interface SyncRequest {
  readonly caller: PeerCaller;
  readonly assets: readonly SentAsset[];
  readonly batchSize: number;
  readonly continueOnError: boolean;
  /** `Prefer: respond-async`. */
  readonly prefersAsync: boolean;
  /** The values of the Idempotency-Key header as received. */
  readonly idempotencyKeys: readonly string[];
  readonly method: string;
  readonly path: string;
  readonly body: JsonValue;
  /** The request body after content decoding. */
  readonly rawBody: Buffer;
}

export type SyncAnswer = KeptAnswer & { readonly replayed: boolean };

export type AnswerSync = (request: SyncRequest) => Promise<SyncAnswer>;

export interface AnswerSyncPorts {
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
 * LEDGER_UNAVAILABLE, OVERLOADED, UNAVAILABLE: nothing was sent by this request.
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
  return { ...(await write(ports, request, { plan, jobId })), replayed: false };
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
  { claim, giveUpAtMs }: { readonly claim: RequestClaim; readonly giveUpAtMs: number },
): Promise<SyncAnswer> {
  const plan = planOf(ports, request);
  const refusal = unmappedRefusal(request, plan);
  for (;;) {
    const known = refusal === undefined ? await begin(ports, request, claim) : await ports.jobs.look(claim);
    if (known === undefined) throw refusal ?? new Error('A claim is either known or begun.');
    if (known.kind === 'begun') return answerBegun(ports, request, { plan, jobId: known.jobId, claim });
    const answer = replayOf(known);
    if (answer !== undefined) return answer;
    if (ports.now() >= giveUpAtMs) throw inProgress();
    await ports.pause(LOOK_EVERY_MS);
  }
}

function begin(ports: AnswerSyncPorts, { caller }: SyncRequest, claim: RequestClaim) {
  return ports.jobs.begin({ jobId: ports.newJobId(), familyId: caller.familyId, claim });
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
  readonly claim: RequestClaim;
}

async function answerBegun(ports: AnswerSyncPorts, request: SyncRequest, begun: Begun): Promise<SyncAnswer> {
  const { jobs } = ports;
  const { jobId, claim } = begun;
  let answer: KeptAnswer;
  try {
    if (request.prefersAsync) return await enqueue(ports, request, jobId);
    answer = await write(ports, request, begun);
  } catch (error) {
    await jobs.forget(jobId);
    throw error;
  }
  if (answer.status === 202) return { ...answer, replayed: false };
  // The assets are written whatever happens to the row; the same request finds them again.
  const isOurs = await jobs.keep(answer).catch(() => true);
  const theirs = isOurs ? undefined : await jobs.look(claim).catch(() => undefined);
  return theirs?.kind === 'kept' ? { ...theirs.answer, replayed: false } : { ...answer, replayed: false };
}

async function enqueue(ports: AnswerSyncPorts, request: SyncRequest, jobId: string): Promise<SyncAnswer> {
  const answer: KeptAnswer = { jobId, status: 202, body: `{"jobId":"${jobId}","status":"queued"}`, isAsync: true };
  await ports.jobs.enqueue({ ...jobOf(request, jobId), results: [], answer });
  return { ...answer, replayed: false };
}

const jobOf = ({ caller, rawBody }: SyncRequest, jobId: string) => ({
  jobId,
  familyId: caller.familyId,
  body: rawBody.toString('utf8'),
});

/** Sends everything and returns the results known by the deadline. */
async function write(
  ports: AnswerSyncPorts,
  request: SyncRequest,
  { plan, jobId, claim }: { plan: Plan; jobId: string; claim?: RequestClaim },
): Promise<KeptAnswer> {
  const endAtMs = ports.now() + ports.answerWithinMs;
  const { results, lost, halted, sent } = await runPlan(plan, {
    ledger: ports.ledger,
    // A process that takes the claim over continues under the same id, and finds what this process has sent.
    jobId: claim === undefined ? undefined : jobId,
    continueOnError: request.continueOnError,
    batchesAtOnce: ports.batchesAtOnce,
    mayGoOn: () => ports.now() < endAtMs,
  });
  const [whyHalted] = halted.values();
  const outage = lost === undefined && whyHalted !== undefined ? 'unavailable' : lost;
  if (!sent && (outage === 'unavailable' || outage === 'overloaded')) {
    const { code, detail } = OUTAGES[outage];
    throw new AppError(code, lost === undefined ? (whyHalted ?? detail) : detail, { retryAfterSeconds: 1 });
  }
  const all = results.map((result, index): AssetResult => result ?? notAttempted(halted.get(index)));
  const isOpen = all.some(({ state }) => state === 'pending');
  const body = renderSummary(plan.ids, all, isOpen ? jobId : undefined);
  const answer: KeptAnswer = { jobId, status: isOpen ? 202 : 200, body, isAsync: false };
  if (isOpen) await ports.jobs.follow({ ...jobOf(request, jobId), results: all, answer });
  return answer;
}

const notAttempted = (why: string | undefined): AssetResult =>
  why === undefined ? NOT_ATTEMPTED : failed('NOT_ATTEMPTED', why, true);

function planOf({ mappings, batchMaxBytes }: AnswerSyncPorts, { assets, batchSize }: SyncRequest): Plan {
  return planBatches(assets, mappings, { batchSize, maxBytes: batchMaxBytes });
}

/** Without `continueOnError`, a request with an unmapped type is rejected as a whole. */
function unmappedRefusal({ continueOnError }: SyncRequest, { unmapped }: Plan): AppError | undefined {
  if (continueOnError || unmapped.length === 0) return undefined;
  const detail = 'No chaincode is mapped for this type.';
  const faults = unmapped
    .slice(0, MOST_FAULTS)
    .map((index): Fault => ({ in: 'body', pointer: `/assets/${index}/type`, detail }));
  return new AppError('UNKNOWN_CHAINCODE', 'No chaincode is mapped for a type of the request; nothing was written.', {
    faults,
  });
}

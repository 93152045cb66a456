import { setTimeout as delay } from 'node:timers/promises';
import type { Gateway } from './gateway-process.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { codeOf } from './load.ts';
import type { PeerSetup, SyncSummary } from './peer-setup.ts';

export interface Asset {
  readonly id: string;
  readonly type: string;
  readonly data: object;
}

/** The assets that one sender wants written by one request. */
export interface AssetOrder {
  readonly idempotencyKey?: string;
  readonly assets: readonly Asset[];
  /** Accepts the first refusal of the whole request: nothing of it may ever be in the ledger then. */
  readonly takesNo: boolean;
}

/** The final answer for an asset. */
export type Fate = { readonly asset: Asset; readonly order: AssetOrder } & (
  | { readonly outcome: 'written'; readonly transactionId: string }
  | { readonly outcome: 'not written'; readonly code: string }
);

/** One answer, or why there was none. */
export interface AssetAttempt {
  readonly order: AssetOrder;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly answer?: HttpAnswer;
}

interface Delivery {
  readonly setup: Pick<PeerSetup, 'ask' | 'peers'>;
  /** Called with each attempt as it ends. */
  readonly onAttempt?: (attempt: AssetAttempt) => void;
  /** The processes to ask, in turn; default all. */
  readonly peers?: readonly Gateway[];
  /** Default 60 s. */
  readonly giveUpAfterMs?: number;
}

/** Refusals of a whole request after which nothing of it was sent. */
const nothingSent = new Set(['LEDGER_UNAVAILABLE', 'OVERLOADED', 'UNAVAILABLE']);
const passing = new Set([...nothingSent, 'IDEMPOTENCY_IN_PROGRESS']);
const PAUSE_MS = 50;
/** Far above every deadline of the service: a request without an answer by then hangs. */
const HANGS_AFTER_MS = 30_000;

/**
 * Sends an order as the documentation requires of senders: the same request under the same key until it is answered,
 * and pending assets polled by their job. Returns the answers for each asset. Throws for an answer that is never
 * correct here, such as a 500.
 */
export async function deliver(order: AssetOrder, delivery: Delivery): Promise<Fate[]> {
  const { setup, onAttempt, peers = setup.peers, giveUpAfterMs = 60_000 } = delivery;
  const endsAtMs = performance.now() + giveUpAfterMs;
  let wasCut = false;
  for (let turn = Math.floor(Math.random() * peers.length); performance.now() < endsAtMs; turn += 1) {
    const startedMs = performance.now();
    const answer = await post(order, setup, peers[turn % peers.length]!);
    onAttempt?.({ order, startedMs, endedMs: performance.now(), ...(answer === undefined ? {} : { answer }) });
    const summary = await summaryOf(answer, delivery, endsAtMs);
    if (summary !== undefined) return fatesOf(order, summary);
    // A request that was cut off may have been accepted: from then on a refusal of a repeat proves nothing about it.
    wasCut ||= answer === undefined;
    const code = answer === undefined ? undefined : passingCode(order, answer);
    if (code !== undefined && order.takesNo && !wasCut && nothingSent.has(code)) {
      return order.assets.map((asset) => ({ asset, order, outcome: 'not written', code }));
    }
    await delay(PAUSE_MS);
  }
  throw new Error(`${nameOf(order)} was not answered within ${giveUpAfterMs} ms.`);
}

/** The result of each asset, from the answer or its job. Undefined where the answer has none. */
async function summaryOf(
  answer: HttpAnswer | undefined,
  delivery: Delivery,
  endsAtMs: number,
): Promise<SyncSummary | undefined> {
  if (answer?.status === 200) return answer.body as SyncSummary;
  return answer?.status === 202 ? jobResult(String(answer.headers['location']), delivery, endsAtMs) : undefined;
}

/** The code of a refusal after which the same request may be sent again. Throws for any other. */
function passingCode(order: AssetOrder, answer: HttpAnswer): string {
  const code = codeOf(answer);
  if (code !== undefined && passing.has(code)) return code;
  throw new Error(`${nameOf(order)} was answered ${answer.status}: ${answer.text.slice(0, 500)}`);
}

const nameOf = ({ idempotencyKey, assets }: AssetOrder): string => idempotencyKey ?? `The order of ${assets[0]?.id}`;

async function post(order: AssetOrder, setup: Delivery['setup'], peer: Gateway): Promise<HttpAnswer | undefined> {
  const body = { assets: order.assets, options: { continueOnError: true } };
  const headers = { 'Idempotency-Key': order.idempotencyKey };
  try {
    return await setup.ask('POST', '/api/assets', { peer, body, headers, timeoutMs: HANGS_AFTER_MS });
  } catch (error) {
    // A killed process cuts its connections. A live one has to answer.
    if (error instanceof Error && error.message.startsWith('No answer within')) throw error;
    return undefined;
  }
}

/** Polls a job at any process until it is done. */
export async function jobResult(
  location: string,
  { setup, peers = setup.peers }: Delivery,
  endsAtMs: number,
): Promise<SyncSummary> {
  for (let turn = 0; performance.now() < endsAtMs; turn += 1) {
    const answer = await setup.ask('GET', location, { peer: peers[turn % peers.length]! }).catch(() => undefined);
    if (answer !== undefined && answer.status !== 200 && answer.status !== 503) {
      throw new Error(`${location} was answered ${answer.status}: ${answer.text.slice(0, 500)}`);
    }
    const job = answer?.status === 200 ? (answer.body as { status: string; result?: SyncSummary }) : undefined;
    if (job?.status === 'done' && job.result !== undefined) return job.result;
    await delay(PAUSE_MS);
  }
  throw new Error(`${location} was not done in time.`);
}

/** Throws for a summary that does not report exactly one result for each asset. */
function fatesOf(order: AssetOrder, summary: SyncSummary): Fate[] {
  const place = (id: string): Fate => {
    const asset = order.assets.find((one) => one.id === id);
    const of = summary.transactions.filter(({ assetIds }) => assetIds.includes(id));
    const failure = summary.failed.find((one) => one.id === id);
    const isWritten = summary.succeeded.includes(id);
    if (asset === undefined || isWritten === (failure !== undefined) || of.length !== (isWritten ? 1 : 0)) {
      throw new Error(`${nameOf(order)} reports not exactly one result for ${id}: ${JSON.stringify(summary)}`);
    }
    if (failure !== undefined) return { asset, order, outcome: 'not written', code: failure.code };
    return { asset, order, outcome: 'written', transactionId: of[0]!.transactionId };
  };
  return order.assets.map(({ id }) => place(id));
}

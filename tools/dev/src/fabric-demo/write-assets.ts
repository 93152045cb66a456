import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../start/user-error.ts';

export interface PeerAccess {
  readonly url: string;
  readonly key: string;
}

export interface WrittenTransaction {
  readonly transactionId: string;
  readonly channel: string;
  readonly chaincode: string;
  readonly blockNumber: number | null;
  readonly assetIds: readonly string[];
}

export interface WriteSummary {
  readonly summary: {
    readonly total: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly pending: number;
  };
  readonly transactions: readonly WrittenTransaction[];
}

interface Asset {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly number: number };
}

const batchSize = 100;
const answerWithinMs = 60_000;
const jobLooks = 120;
const jobEveryMs = 500;

/** New assets of one type; `run` keeps them apart from those of every other run. */
export function assetsOf(run: string, count: number): Asset[] {
  return Array.from({ length: count }, (_, number) => ({
    id: `${run}-${String(number).padStart(4, '0')}`,
    type: `demo.${run}`,
    data: { number },
  }));
}

/**
 * Writes them through the ledger peer. Where an outcome is not known at once, the job is asked until it is.
 * Throws UserError with what the peer said when it refuses.
 */
export async function writeAssets(peer: PeerAccess, assets: readonly Asset[]): Promise<WriteSummary> {
  const body = { assets, options: { batchSize } };
  const { status, answer } = await ask(peer, 'POST', '/api/assets', body);
  if (status === 200) return answer as WriteSummary;
  for (let look = 0; status === 202 && look < jobLooks; look += 1) {
    const job = await ask(peer, 'GET', `/api/jobs/${(answer as { jobId: string }).jobId}`);
    const { status: state, result } = job.answer as { status: string; result?: WriteSummary };
    if (state === 'done' && result !== undefined) return result;
    await delay(jobEveryMs);
  }
  throw new UserError(`The ledger peer answered ${status}: ${JSON.stringify(answer)}`);
}

/** How many of the assets are read back as they were written, by one query and one single read. */
export async function readBack(peer: PeerAccess, assets: readonly Asset[]): Promise<number> {
  const [first] = assets;
  if (first === undefined) return 0;
  const query = await ask(peer, 'POST', '/api/assets/query', { type: first.type, limit: assets.length });
  const found = (query.answer as { assets?: Asset[] }).assets ?? [];
  const byId = new Map(found.map((asset) => [asset.id, asset]));
  const single = await ask(peer, 'GET', `/api/assets/${first.id}?type=${first.type}`);
  const isRead = (single.answer as Partial<Asset>).data?.number === first.data.number;
  return isRead ? assets.filter(({ id, data }) => byId.get(id)?.data.number === data.number).length : 0;
}

async function ask({ url, key }: PeerAccess, method: 'GET' | 'POST', path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'X-Api-Key': key, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(answerWithinMs),
  });
  const answer: unknown = await response.json();
  return { status: response.status, answer };
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Site } from '../site.ts';
import type { Random } from '../random.ts';
import type { Asking, Client } from './client.ts';
import { Recent, type Step } from './load.ts';

/** Senders of assets to the ledger peer, and readers of them. */
export function peerSteps(
  { peerKeys, assetTypes }: Site,
  client: Client,
): Readonly<Record<'sync' | 'job' | 'asset', Step>> {
  const callers = peerKeys.map((key, number) => ({ as: `peer-${number + 1}`, key }));
  const answered = new Recent<Asking>(200);
  const written = new Recent<Asset>(200);
  const assetsOf = (random: Random, number: number): readonly Asset[] => {
    const type = random.pick(assetTypes);
    return Array.from({ length: random.between(1, 3) }, (_, n) => ({
      ...{ id: `ast-${random.text(20)}`, type, data: { number, n } },
    }));
  };
  let sent = 0;
  const sync: Step = async (random) => {
    const earlier = random.chance(0.2) ? answered.pick(random) : undefined;
    if (earlier !== undefined) {
      const again = random.chance(0.7) ? earlier : withOther(earlier, assetsOf(random, -1));
      return void (await client.insist(again, random));
    }
    const assets = assetsOf(random, (sent += 1));
    const asking = writing(random.pick(callers), `a-${random.text(20)}`, assets);
    if (random.chance(0.2)) await Promise.all([client.ask(asking, 0), client.ask(asking, 1)]);
    const told = await client.insist(asking, random);
    if (told === undefined || told.status > 202) return;
    answered.add(asking);
    written.add(assets[0]!);
    await followed(client, asking, told, random);
  };
  const job: Step = async (random) => {
    const asking = writing(random.pick(callers), `j-${random.text(20)}`, assetsOf(random, (sent += 1)));
    const headers = { ...asking.headers, Prefer: 'respond-async' };
    const told = await client.insist({ ...asking, headers }, random);
    if (told !== undefined) await followed(client, asking, told, random);
  };
  const asset: Step = async (random) => {
    const one = written.pick(random);
    if (one === undefined) return;
    const { as, key } = random.pick(callers);
    const path = `/api/assets/${one.id}?type=${one.type}${random.chance(0.3) ? '&proof=true' : ''}`;
    const headers = { 'X-Api-Key': key };
    await client.ask({ surface: 'ledger-peer', act: 'read', as, method: 'GET', path, headers }, random.below(2));
  };
  return { sync, job, asset };
}

interface Asset {
  readonly id: string;
  readonly type: string;
  readonly data: object;
}

interface Caller {
  readonly as: string;
  readonly key: string;
}

function writing({ as, key: apiKey }: Caller, key: string, assets: readonly object[]): Asking {
  const headers = { 'X-Api-Key': apiKey, 'Content-Type': 'application/json', 'Idempotency-Key': key };
  const body = JSON.stringify({ assets });
  return { surface: 'ledger-peer', act: 'sync', as, path: '/api/assets', headers, body, key, sent: { body } };
}

/** Another body under the same key. */
function withOther(earlier: Asking, assets: readonly Asset[]): Asking {
  const body = JSON.stringify({ assets });
  return { ...earlier, body, sent: { body } };
}

const POLL_MS = 50;

/** Asks for a job until it is done. */
async function followed(
  client: Client,
  { as, headers }: Asking,
  told: { readonly body: unknown; readonly status: number },
  random: Random,
): Promise<void> {
  const { jobId } = told.body as { jobId?: unknown };
  if (told.status !== 202 || typeof jobId !== 'string') return;
  const key = headers['X-Api-Key']!;
  const asking: Asking = {
    ...{ surface: 'ledger-peer', act: 'job', as, method: 'GET', path: `/api/jobs/${jobId}` },
    headers: { 'X-Api-Key': key },
  };
  for (let isDone = false; !isDone;) {
    const answer = await client.insist(asking, random);
    isDone = answer === undefined || answer.status !== 200 || answer.text.includes('"status":"done"');
    if (!isDone) await delay(POLL_MS);
  }
}

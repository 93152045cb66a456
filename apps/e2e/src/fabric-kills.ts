import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { Client } from 'pg';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { readBlocks, type BlockTransaction } from './harness/fabric-blocks.ts';
import type { RealNetwork } from './harness/fabric-real.ts';
import { fabricStage, type FabricStage } from './harness/fabric-stage.ts';
import type { Gateway } from './harness/gateway-process.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import type { SyncSummary } from './harness/peer-setup.ts';

/** Longer than its waits together, the second attempt at an answer among them. */
const ROUND_WITHIN_MS = 480_000;
const ANSWER_WITHIN_MS = 120_000;
const JOURNALLED_WITHIN_MS = 60_000;
const WORST_PAUSE_MS = 400;
/** Longer than the lease of a dead process, so that the next one takes its claims over while it cannot ask. */
const LOCKED_FOR_MS = 7000;
const ORDERS = 3;

/** A keyed write of one asset, or a keyed action on it, to a contract that counts how often it was written. */
interface Order {
  readonly key: string;
  readonly id: string;
  readonly by: 'write' | 'action';
  readonly type: 'counted' | 'alone';
  /** From its last answer. */
  transactionId: string | undefined;
}

interface Stand {
  readonly stage: FabricStage;
  readonly network: RealNetwork;
  /** A connection of the story's own to the database of the processes. */
  readonly sql: Client;
  /** The process that is killed, and the one that is asked afterwards. */
  readonly victim: Gateway;
  readonly heir: Gateway;
  readonly orders: readonly Order[];
  /** Answers that say what is not so. */
  readonly untrue: string[];
  /** Kills at another moment than the one that was waited for. */
  readonly missed: string[];
}

/**
 * Kills a process of two at every point of a keyed write or action, freezes the orderer, locks the journal while the next process
 * asks it, and lets reads fail over to a peer that lags behind. The contract writes again whenever it is asked, so only
 * the peers keep a write from being doubled. The result is judged from the blocks and rows. The writes of a round are of
 * several assets, its actions are all on one, so that they conflict with each other too.
 */
export function killStories(open: () => Promise<RealNetwork>, kills: number, by: Order['by']): void {
  describe(`A ledger peer that is killed ${kills} times on a contract that counts, by ${by}s`, () => {
    const untrue: string[] = [];
    const missed: string[] = [];
    const all: Order[] = [];
    let network: RealNetwork;
    let stage: FabricStage;
    let postgres: ThrowawayPostgres;
    let sql: Client;
    beforeAll(async () => {
      network = await open();
      postgres = await throwawayPostgres();
      stage = await fabricStage(network, { postgres, gatewayPeers: network.bothPeers });
      sql = new Client({ connectionString: postgres.url });
      await sql.connect();
    }, setupTimeoutMs);
    afterAll(async () => {
      await network?.mend();
      await sql?.end();
      await stage?.stop();
      await postgres?.stop();
      await network?.close();
    }, setupTimeoutMs);

    it.each(Array.from({ length: kills }, (_, n) => [n + 1, ...ROUNDS[n % ROUNDS.length]!] as const))(
      'kill %d, %s: each key has one answer and one effect',
      async (n, _when, round) => {
        const type = round === lagging ? 'alone' : 'counted';
        const orders = Array.from({ length: round === lagging ? 1 : ORDERS }, (_, at): Order => {
          const key = `${stage.tag}-${n}-${at}`;
          return { key, id: by === 'action' ? `${stage.tag}-${n}` : key, by, type, transactionId: undefined };
        });
        all.push(...orders);
        const [one, other] = stage.setup.peers as [Gateway, Gateway];
        const [victim, heir] = n % 2 === 0 ? [one, other] : [other, one];
        await play(round, { stage, network, sql, victim, heir, orders, untrue, missed });
      },
      ROUND_WITHIN_MS,
    );

    it(
      'leaves no double, no loss and no untrue word in blocks and rows',
      async () => {
        await network.mend();
        await stage.settled();
        const blocks = await Promise.all(
          [network.mainChannel, network.otherChannel].map((channel) => readBlocks(network.connection, channel)),
        );
        const counts = countWrites(blocks.flat(), stage.tag);
        const wanted = Map.groupBy(all, ({ id }) => id);
        const doubled = [...counts].filter(([id, written]) => written.length > (wanted.get(id) ?? []).length);
        const unanswered = all.filter(({ transactionId }) => transactionId === undefined).map(({ key }) => key);
        const lost = all.filter(
          ({ id, transactionId }) => counts.get(id)?.some((one) => one.transactionId === transactionId) !== true,
        );
        const written = [...counts.values()].flat().length;
        const { rows } = await sql.query(
          `SELECT (SELECT count(*)::int FROM peer.jobs WHERE claim IS NOT NULL AND answer_status IS NULL) AS unanswered,
                  (SELECT count(*)::int FROM peer.fabric_transactions WHERE settled_at IS NULL) AS unsettled,
                  (SELECT count(*)::int FROM peer.fabric_transactions WHERE status = 'committed') AS committed`,
        );
        const report = { kills, by, keys: all.length, written, doubled, lost, unanswered, untrue };
        process.stderr.write(`${JSON.stringify({ ...report, missed, rows: rows[0] })}\n`);
        const good = { doubled: [], lost: [], unanswered: [], untrue: [] };
        expect(report).toEqual({ kills, by, keys: all.length, written: all.length, ...good });
        expect(new Set(all.map(({ transactionId }) => transactionId)).size).toBe(all.length);
        // On a busy machine some kills come late; if many do, the story no longer shows what it is about.
        expect(missed.length).toBeLessThanOrEqual(Math.ceil(kills / 10));
        expect(rows).toEqual([{ unanswered: 0, unsettled: 0, committed: all.length }]);
      },
      ROUND_WITHIN_MS,
    );
  });
}

/** However a round ends, the network is whole afterwards, both processes run, and every key has its final answer. */
async function play(round: (stand: Stand) => Promise<void>, stand: Stand): Promise<void> {
  const { stage, network, victim, heir, orders, untrue } = stand;
  const failed = await round(stand).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (failed !== undefined) await network.mend();
  if (!victim.isRunning) await victim.start();
  const open = orders.filter(({ transactionId }) => transactionId === undefined);
  await Promise.all(open.map((order) => finish(stage, order, heir, untrue)));
  if (failed !== undefined) throw failed.error;
}

/** Between its journal row and the commit: the orderer stands still. */
async function afterJournal(stand: Stand): Promise<void> {
  await killAfterJournal(stand);
  await finishAll(stand);
}

/** The same; then the journal cannot be read while the next process is asked. */
async function journalLocked(stand: Stand): Promise<void> {
  const { sql, heir, orders, untrue, stage } = stand;
  await killAfterJournal(stand);
  await sql.query('BEGIN');
  await sql.query('LOCK TABLE peer.fabric_transactions IN ACCESS EXCLUSIVE MODE');
  try {
    const endsAt = performance.now() + LOCKED_FOR_MS;
    while (performance.now() < endsAt) {
      for (const answer of await Promise.all(orders.map((order) => push(stage, order, heir)))) {
        if (answer === undefined || MAY_SAY.has(codeOf(answer))) continue;
        untrue.push(`journal locked: ${told(answer)}`);
      }
      await delay(200);
    }
  } finally {
    await sql.query('ROLLBACK');
  }
  await finishAll(stand);
}

/** What may be said of a key while it cannot be asked what became of it. */
const MAY_SAY: ReadonlySet<string> = new Set(['OUTCOME_UNKNOWN', 'IDEMPOTENCY_IN_PROGRESS', 'UNAVAILABLE', '202']);

/** At any moment. */
async function anywhere(stand: Stand): Promise<void> {
  const { stage, victim, orders } = stand;
  const sent = orders.map((order) => push(stage, order, victim));
  await delay(Math.random() * WORST_PAUSE_MS);
  await victim.kill();
  await Promise.all(sent);
  await finishAll(stand);
}

/** Only a peer that lacks the block of an acknowledged write can be read from. */
async function lagging(stand: Stand): Promise<void> {
  const { stage, network, victim, heir, orders, untrue } = stand;
  const [order] = orders as [Order];
  await network.secondOrganization.kill();
  await finish(stage, order, victim, untrue);
  await victim.kill();
  await network.orderer.freeze();
  await network.peer.freeze();
  await network.secondOrganization.start();
  const { ask } = stage.setup;
  let ready: HttpAnswer | undefined;
  let isUnready = false;
  for (let time = 0; time < MOST_READS && (time < LEAST_READS || !isUnready); time += 1) {
    const read = await ask('GET', `/api/assets/${order.id}?type=alone`, { peer: heir });
    if (read.status !== 503 && !shows(read, order)) untrue.push(`lagging: GET ${told(read)}`);
    const listed = await ask('POST', '/api/assets/query', { body: { type: 'alone', limit: 1000 }, peer: heir });
    if (listed.status !== 503 && !shows(listed, order)) untrue.push(`lagging: query ${told(listed)}`);
    ready = await heir.ops.send({ path: '/health/ready' });
    isUnready ||= saysUnready(ready, network.otherChannel);
  }
  if (ready !== undefined && !isUnready) untrue.push(`lagging: ready said ${told(ready)}`);
  await network.peer.thaw();
  await network.orderer.thaw();
  await until(async () => (await ask('GET', `/api/assets/${order.id}?type=alone`, { peer: heir })).status === 200, {
    timeoutMs: 60_000,
    what: 'the asset to be read again',
  });
}

const LEAST_READS = 3;
const MOST_READS = 20;
/** The peer that answers is behind; or, on a busy machine, does not answer in time. */
const WHY_UNREADY: ReadonlySet<string | undefined> = new Set(['peers_behind', 'no_answer']);

/** Whether the contract that counts is listed as not ok on a channel. */
function saysUnready({ body }: HttpAnswer, channel: string): boolean {
  const { contracts = [] } = body as {
    contracts?: { channel: string; chaincode: string; ok: boolean; reason?: string }[];
  };
  return contracts.some(
    (one) => one.channel === channel && one.chaincode === 'basic' && !one.ok && WHY_UNREADY.has(one.reason),
  );
}

/** Whether an answer has the asset of an order: a page of them, or the asset alone. */
const shows = ({ status, body }: HttpAnswer, { id }: Order): boolean =>
  status === 200 && JSON.stringify(body).includes(JSON.stringify(id));

const told = ({ status, body }: HttpAnswer): string => `${status} ${JSON.stringify(body)}`;

const ROUNDS = [
  ['after its journal row', afterJournal],
  ['after its journal row, which is locked then', journalLocked],
  ['at any moment', anywhere],
  ['while only a lagging peer can be read', lagging],
  ['after its journal row, which is locked then', journalLocked],
] as const;

/** On a busy machine an attempt may end before the journal, so each request is repeated until the kill. */
async function killAfterJournal({ stage, network, sql, victim, orders, missed }: Stand): Promise<void> {
  await network.orderer.freeze();
  let isOver = false;
  const sent = orders.map(async (order) => {
    for (; !isOver; await delay(200)) await push(stage, order, victim);
  });
  const text = 'SELECT FROM peer.fabric_transactions WHERE settled_at IS NULL';
  await until(async () => (await sql.query(text)).rowCount === orders.length, {
    timeoutMs: JOURNALLED_WITHIN_MS,
    what: 'the row of each transaction',
  }).catch((error: unknown) => missed.push(`${orders[0]?.id}: ${String(error)}`));
  await victim.kill();
  isOver = true;
  await Promise.all(sent);
  await network.orderer.thaw();
}

/** The victim returns meanwhile, as another process: both may be asked. */
async function finishAll({ stage, victim, heir, orders, untrue }: Stand): Promise<void> {
  const back = victim.start();
  await Promise.all(orders.map((order) => finish(stage, order, heir, untrue)));
  await back;
}

/** Undefined if the process died. */
function push({ setup }: FabricStage, { key, id, by, type }: Order, peer: Gateway): Promise<HttpAnswer | undefined> {
  const [path, body] =
    by === 'action'
      ? [`/api/assets/${id}/actions/count?type=${type}`, {}]
      : ['/api/assets', { assets: [{ id, type, data: {} }] }];
  const headers = { 'Idempotency-Key': key };
  return setup.ask('POST', path, { body, headers, peer, timeoutMs: 30_000 }).catch(() => undefined);
}

/** Repeats the request until it has its final answer. */
async function finish(stage: FabricStage, order: Order, peer: Gateway, untrue: string[]): Promise<void> {
  const endsAt = performance.now() + ANSWER_WITHIN_MS;
  while (performance.now() < endsAt) {
    const answer = await push(stage, order, peer);
    const summary = answer === undefined ? undefined : await summaryOf(stage, answer, peer);
    if (summary !== undefined) {
      if (summary.failed.length > 0) untrue.push(`${order.key}: ${JSON.stringify(summary.failed)}`);
      if (summary.pending.length === 0) {
        order.transactionId = summary.transactionIds[0];
        return;
      }
    }
    await delay(200);
  }
  throw new Error(`${order.key} is never answered.`);
}

/** Of a finished write, or of its job once that is done. */
async function summaryOf(
  { setup }: FabricStage,
  answer: HttpAnswer,
  peer: Gateway,
): Promise<Pick<SyncSummary, 'failed' | 'pending' | 'transactionIds'> | undefined> {
  if (answer.status === 200) {
    const body = answer.body as SyncSummary | { readonly transactionId: string };
    return 'transactionId' in body ? { failed: [], pending: [], transactionIds: [body.transactionId] } : body;
  }
  if (answer.status !== 202) return undefined;
  const job = await setup.ask('GET', `/api/jobs/${(answer.body as SyncSummary).jobId}`, { peer });
  return (job.body as { result?: SyncSummary }).result;
}

function codeOf({ status, body }: HttpAnswer): string {
  return (body as { code?: string } | undefined)?.code ?? String(status);
}

/** The valid transactions that counted each asset of the story, by its id. */
function countWrites(transactions: readonly BlockTransaction[], tag: string): Map<string, BlockTransaction[]> {
  const ours = transactions.filter(({ valid, args }) => valid && args[0] === 'CountAsset' && args[1]?.startsWith(tag));
  return Map.groupBy(ours, ({ args }) => args[1]!);
}

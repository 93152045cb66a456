import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  hasPgBouncer,
  pgBouncer,
  transactionPooler,
  until,
  type ThrowawayPostgres,
  type TransactionPooler,
} from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { askGate, gateSetup } from './harness/gate-setup.ts';
import { install, type Installation } from './harness/installation.ts';
import { batchOrders, checkReplays, startLoad } from './harness/load.ts';
import { sender } from './harness/sender.ts';

const storyTimeoutMs = 120_000;
const orders = 400;

describe(`Behind ${hasPgBouncer ? 'PgBouncer in transaction mode' : 'a stand-in for PgBouncer'}`, () => {
  let postgres: ThrowawayPostgres;
  let pooler: TransactionPooler;
  let installation: Installation;
  beforeAll(async () => {
    postgres = await migratedPostgres('ingest-gateway');
    pooler = await (hasPgBouncer ? pgBouncer : transactionPooler)(postgres.url);
    // The migration job connects to PostgreSQL directly.
    installation = await install({ postgres, gateways: 2, env: { DATABASE_URL: pooler.url } });
  }, setupTimeoutMs);
  afterAll(async () => {
    await installation.stop();
    await pooler.close();
    await postgres.stop();
  }, setupTimeoutMs);

  it(
    'the gateway refuses nothing, detects the pooler by itself, and logs it in one line',
    async () => {
      const networkId = await installation.newNetwork();
      const { rawKey } = await installation.newKey(networkId);
      const targets = installation.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
      const load = startLoad({ targets, senders: 16, nextOrder: batchOrders(3, 'pooled'), replayPercent: 25 });
      await until(() => load.attempts.length >= orders, { timeoutMs: 60_000, what: 'load' });
      await load.finish();
      checkReplays(load.attempts);
      expect(load.attempts.filter(({ answer }) => answer?.status !== 200)).toEqual([]);
      expect(await installation.admin.ask('GET', '/events?limit=5')).toMatchObject({ items: expect.anything() });
      const { admin } = installation;
      const audit = await admin.ask('POST', `/ledger/channels/${networkId}.main/audit`);
      expect(audit).toMatchObject({ ok: true });
      for (const gateway of installation.gateways)
        expect(gateway.logText().match(/"database_pooler"/g)).toHaveLength(1);
    },
    storyTimeoutMs,
  );

  it(
    'the case gate answers its checks',
    async () => {
      const other = await migratedPostgres('case-gate');
      const between = await (hasPgBouncer ? pgBouncer : transactionPooler)(other.url);
      const setup = await gateSetup({ postgres: other, env: { DATABASE_URL: between.url, GATE_DEADLINE_MS: '5000' } });
      try {
        const asked = Array.from({ length: 100 }, (_, n) =>
          askGate(setup, ['POST', '/v1/gate/check'], { body: { subject_ref: `subj_${n}`, venue_id: 'hall' } }),
        );
        const answers = await Promise.all(asked);
        const codes = answers.map(({ status, body }) => [status < 500, body['reason_codes']]);
        expect(codes).toEqual(answers.map(() => [true, [expect.not.stringContaining('BACKEND')]]));
      } finally {
        await setup.stop();
        await between.close();
        await other.stop();
      }
    },
    storyTimeoutMs,
  );
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, holdLock, until, type ThrowawayPostgres } from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { expectWritten } from './harness/answers.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { gateSetup, type GateSetup } from './harness/gate-setup.ts';
import type { Gateway } from './harness/gateway-process.ts';
import { install, type Installation } from './harness/installation.ts';
import { peerSetup, type PeerSetup } from './harness/peer-setup.ts';
import { sender } from './harness/sender.ts';

const inProgress = { retryAfterSeconds: 1 };
let postgres: ThrowawayPostgres;
beforeAll(async () => {
  postgres = await migratedPostgres('ingest-gateway');
}, setupTimeoutMs);
afterAll(() => postgres.stop());

/** Lets `begin` block on a lock and stay in flight until `meanwhile` has ended; returns its result. */
async function heldUp<T>(
  url: string,
  lock: string,
  begin: () => Promise<T>,
  meanwhile: (running: Promise<T>) => Promise<void>,
): Promise<T> {
  const held = await holdLock(url, lock);
  try {
    const running = begin();
    await until(async () => (await held.waiting()) > 0);
    await meanwhile(running);
    await held.release();
    return await running;
  } finally {
    await held.release();
  }
}

describe('Two bodies under one Idempotency-Key at the ingest gateway', () => {
  let setup: Installation;
  beforeAll(async () => {
    setup = await install({ postgres, gateways: 2 });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  it('one of which is committed: a losing request in flight does not make the committed body 422', async () => {
    const networkId = await setup.newNetwork({ channels: ['main', 'other'] });
    const { rawKey } = await setup.newKey(networkId);
    const [here, elsewhere] = setup.gateways.map((gateway) => sender(gateway.public, networkId, rawKey));
    expectWritten(await here!.post({ targetChannels: ['other'] }));
    const how = { idempotencyKey: 'one-key' };
    const winner = { targetChannels: ['main'], body: 'winner' };
    const loser = { targetChannels: ['other'], body: 'loser' };
    const lock = `SELECT 1 FROM ledger.channels WHERE channel = '${networkId}.other' FOR UPDATE`;
    let won = '';
    const lost = await heldUp(
      postgres.url,
      lock,
      () => here!.post(loser, how),
      async () => {
        const answer = await elsewhere!.post(winner, how);
        expectWritten(answer);
        won = answer.text;
        expectProblem(await here!.post(winner, how), 'IDEMPOTENCY_IN_PROGRESS', inProgress);
        expect((await elsewhere!.post(winner, how)).text).toBe(won);
      },
    );
    expectProblem(lost, 'IDEMPOTENCY_KEY_REUSED');
    const replay = await here!.post(winner, how);
    expect({ status: replay.status, text: replay.text }).toEqual({ status: 200, text: won });
    expectProblem(await elsewhere!.post(loser, how), 'IDEMPOTENCY_KEY_REUSED');
  });
});

describe('Two bodies under one Idempotency-Key at the ledger peer', () => {
  let setup: PeerSetup;
  let url: string;
  beforeAll(async () => {
    url = await postgres.newDatabase();
    setup = await peerSetup({ peers: 2, postgres: { ...postgres, url } });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  it('one of which is in flight: the other is told to wait by every process, and is refused once the row exists', async () => {
    const write = (id: string, peer: Gateway) =>
      setup.ask('POST', '/api/assets', {
        peer,
        body: { assets: [{ id, type: 'other.thing', data: {} }] },
        headers: { 'Idempotency-Key': 'one-key' },
      });
    const [here, elsewhere] = setup.peers;
    const first = { assets: [{ id: 'there', type: 'other.thing', data: {} }] };
    expect((await setup.ask('POST', '/api/assets', { body: first })).status).toBe(200);
    const won = await heldUp(
      url,
      `SELECT 1 FROM ledger.channels WHERE channel = 'acme.other' FOR UPDATE`,
      () => write('winner', here!),
      async () => {
        for (const peer of [here!, elsewhere!]) {
          expectProblem(await write('loser', peer), 'IDEMPOTENCY_IN_PROGRESS', inProgress);
        }
      },
    );
    expect(won.status).toBe(200);
    for (const peer of [here!, elsewhere!]) {
      expectProblem(await write('loser', peer), 'IDEMPOTENCY_KEY_REUSED');
      expect((await write('winner', peer)).text).toBe(won.text);
    }
  });
});

describe('Two bodies under one Idempotency-Key at the case gate', () => {
  let setup: GateSetup;
  let url: string;
  beforeAll(async () => {
    url = await postgres.newDatabase();
    setup = await gateSetup({ postgres: { ...postgres, url }, gates: 2 });
  }, setupTimeoutMs);
  afterAll(() => setup.stop());

  it('one of which is in flight and fails: the other is told to wait, and is accepted then', async () => {
    const create = (subject: string, gate: Gateway) =>
      gate.public.send({
        method: 'POST',
        path: '/v1/cases',
        headers: {
          Authorization: `Bearer ${setup.key}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': 'one-key',
        },
        body: JSON.stringify({ subject_ref: subject }),
      });
    const [here, elsewhere] = setup.gates;
    await heldUp(
      url,
      'LOCK TABLE gate.cases IN EXCLUSIVE MODE',
      () => create('subj_first', here!),
      async (running) => {
        for (const gate of [here!, elsewhere!]) {
          expectProblem(await create('subj_other', gate), 'IDEMPOTENCY_IN_PROGRESS', inProgress);
        }
        // The database took longer than the timeout.
        expectProblem(await running, 'UNAVAILABLE');
      },
    );
    const made = await create('subj_other', here!);
    expect(made.status).toBe(201);
    expect((await create('subj_other', elsewhere!)).text).toBe(made.text);
    expectProblem(await create('subj_first', elsewhere!), 'IDEMPOTENCY_KEY_REUSED');
  });
});

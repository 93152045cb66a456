import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, postgresPair, until, type PostgresPair } from '@sealgate/testing';
import { adminClient } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { askGate, gateSetup, type GateSetup } from './harness/gate-setup.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { install, type Installation } from './harness/installation.ts';
import { peerSetup, type PeerSetup } from './harness/peer-setup.ts';
import { sender } from './harness/sender.ts';

/** Longer than a flush of the decisions lasts, its pause, and the flush after that. */
const TWO_FLUSHES_MS = 6_000;

let pair: PostgresPair;
let gateway: Installation;
let gates: GateSetup;
let peers: PeerSetup;
beforeAll(async () => {
  pair = await postgresPair();
  gateway = await install({ postgres: pair, gateways: 2 });
  gates = await gateSetup({ postgres: pair, gates: 2 });
  peers = await peerSetup({ postgres: pair, peers: 2 });
}, setupTimeoutMs);
afterAll(async () => {
  for (const setup of [peers, gates, gateway]) await setup.stop();
  await pair.stop();
}, setupTimeoutMs);

type Write = (replica: number) => Promise<HttpAnswer>;

async function recordWrite(): Promise<Write> {
  const networkId = await gateway.newNetwork();
  const { rawKey } = await gateway.newKey(networkId);
  const body = [{ id: randomUUID(), type: 'note', data: { text: 'kept' } }];
  return (replica) => sender(gateway.gateways[replica]!.public, networkId, rawKey).post(body, { idempotencyKey: 'k' });
}

async function caseOpening(): Promise<Write> {
  const asking = { body: { subject_ref: `subj_${randomUUID().slice(0, 8)}` }, idempotencyKey: randomUUID() };
  return (replica) => askGate({ gate: gates.gates[replica]!, key: gates.key }, ['POST', '/v1/cases'], asking);
}

async function assetWrite(): Promise<Write> {
  const body = { assets: [{ id: randomUUID(), type: 'asset', data: {} }] };
  const headers = { 'Idempotency-Key': randomUUID() };
  return (replica) => peers.ask('POST', '/api/assets', { body, headers, peer: peers.peers[replica]! });
}

/** By operators, who learn of a repetition that it is there already. */
function networkAdding(): Promise<Write> {
  const body = { networkId: `net-${randomUUID().slice(0, 8)}` };
  const admins = gateway.gateways.map((one) => adminClient(one.admin, gateway.adminToken));
  return Promise.resolve((replica) => admins[replica]!.send('POST', '/networks', body));
}

function venueAdding(): Promise<Write> {
  const body = { venue_id: `v-${randomUUID().slice(0, 8)}`, name: 'Hall' };
  return Promise.resolve((replica) => gates.admins[replica]!.send('POST', '/venues', body));
}

describe('while commits wait for a standby', () => {
  it.each([
    ['a record', recordWrite, 200],
    ['a case', caseOpening, 201],
    ['an asset', assetWrite, 200],
    ['a network', networkAdding, 409],
    ['a venue', venueAdding, 409],
  ])(
    '%s is not told to be there, by either replica; once the standby has it, it is',
    async (_what, prepare, status) => {
      const write = await prepare();
      const goOn = await pair.holdCommits();
      try {
        // Its wait is cancelled at its deadline; the row is then to be seen on the primary.
        expect((await write(0)).status).toBe(503);
        expect((await write(1)).status).toBe(503);
      } finally {
        goOn();
      }
      const isTold = async () => (await write(1)).status === status;
      await until(isTold, { timeoutMs: 30_000, what: 'the row to be told' });
    },
    120_000,
  );

  it('decisions of the gate are written again where the primary is lost before the standby has them', async () => {
    const goOn = await pair.holdCommits();
    const body = { subject_ref: 'subj_nobody', venue_id: 'hall' };
    const answer = await askGate({ gate: gates.gate, key: gates.key }, ['POST', '/v1/gate/check'], { body });
    const decisionId = String(answer.body['decision_id']);
    await delay(TWO_FLUSHES_MS);
    await pair.failOver();
    goOn();
    // Divides by zero as long as it is missing.
    const text = `SELECT 1 / count(*) FROM gate.gate_decisions WHERE decision_id = '${decisionId}'`;
    const isLogged = () =>
      executeSql(pair.primaryUrl, text).then(
        () => true,
        () => false,
      );
    await until(isLogged, { timeoutMs: 30_000, what: 'the decision' });
  }, 120_000);
});

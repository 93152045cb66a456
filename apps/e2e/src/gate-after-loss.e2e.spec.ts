import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { postgresPair, until, type PostgresPair } from '@sealgate/testing';
import type { Members } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { approvedSubject, askGate, doorAnswer, gateSetup, type GateSetup } from './harness/gate-setup.ts';
import { install, type Installation } from './harness/installation.ts';

const channel = 'gate.seals';

let pair: PostgresPair;
let setup: GateSetup;
/** Runs with the admin API that declares a loss. */
let operator: Installation;
beforeAll(async () => {
  pair = await postgresPair();
  setup = await gateSetup({ postgres: pair });
  operator = await install({ postgres: pair, integrators: 0 });
}, setupTimeoutMs);
afterAll(async () => {
  await operator.stop();
  await setup.stop();
  await pair.stop();
}, setupTimeoutMs);

const check = (subjectRef: string): Promise<string> => doorAnswer(setup, subjectRef);
const approved = () => approvedSubject(setup);

/** Waits until a checkpoint covers the seal of a case. */
const signed = (caseId: string): Promise<void> =>
  until(async () => (await askGate(setup, ['GET', `/v1/cases/${caseId}/assessor-pack`])).status === 200, {
    timeoutMs: 20_000,
    what: 'a checkpoint over the seal',
  });

const lossOf = (): Promise<Members> => operator.admin.ask('GET', `/ledger/channels/${channel}/loss`);
const act = (subjectRef: string, action: string, more: object = {}): Promise<Members> =>
  setup.admins[0]!.ask('POST', `/subjects/${subjectRef}/${action}`, { reason: 'Ticket 9', ...more });

it('no subject whose revocation a failover lost is let in after the loss is declared, and others are', async () => {
  const { subjectRef: kept } = await approved();
  const { subjectRef: revoked, caseId: before } = await approved();
  // What both servers have signed survives, and nothing else.
  await signed(before);
  for (const each of [kept, revoked]) expect(await check(each)).toBe('200 allow ELIGIBLE');
  await pair.withhold();
  await act(revoked, 'revoke');
  const { subjectRef: late, caseId } = await approved();
  // A checkpoint that covers its seal covers the revocation too.
  await signed(caseId);
  expect(await check(revoked)).toBe('200 deny ELIGIBILITY_REVOKED');
  await pair.failOver();

  await until(async () => (await lossOf())['status'] === 'lost', { timeoutMs: 60_000, what: 'the loss to be found' });
  for (const each of [kept, revoked, late]) expect(await check(each)).toBe('503 deny BACKEND_UNAVAILABLE');
  const { checkpoint } = ((await lossOf())['lost'] as { checkpoint: string }[]).at(-1)!;
  const declared = { reason: 'The standby was behind', checkpoint };
  await operator.admin.ask('POST', `/ledger/channels/${channel}/loss/declare`, declared);

  // From the first answer on: none in between lets the revoked subject in.
  const answers: string[] = [];
  await until(
    async () => {
      const answer = await check(revoked);
      answers.push(answer);
      return (await check(kept)) === '200 allow ELIGIBLE';
    },
    { timeoutMs: 60_000, what: 'the channel to go on' },
  );
  expect(answers.filter((answer) => answer.includes('allow'))).toEqual([]);
  expect((await lossOf())['status']).toBe('whole');
  const waiting = async () =>
    (await setup.admins[0]!.ask('GET', '/unconfirmed-subjects'))['items'] as Record<string, unknown>[];
  await until(async () => (await waiting()).length === 2, { timeoutMs: 20_000 });
  expect(new Map((await waiting()).map((row) => [row['subject_ref'], row['cause']]))).toEqual(
    new Map([
      [revoked, 'newer_version_seen'],
      [late, 'newer_version_seen'],
    ]),
  );

  // The next process has the state of this one.
  await setup.gate.kill();
  await setup.gate.start();
  for (const each of [revoked, late]) expect(await check(each)).toBe('200 deny ELIGIBILITY_UNCONFIRMED');
  expect(await check(kept)).toBe('200 allow ELIGIBLE');
  await act(revoked, 'revoke');
  const lateRow = (await waiting()).find((row) => row['subject_ref'] === late);
  await act(late, 'confirm', { record_version: lateRow?.['record_version'] });
  expect(await check(revoked)).toBe('200 deny ELIGIBILITY_REVOKED');
  expect(await check(late)).toBe('200 deny NO_SEALED_DECISION');
  expect(await waiting()).toEqual([]);
  const { subjectRef: fresh } = await approved();
  expect(await check(fresh)).toBe('200 allow ELIGIBLE');
}, 240_000);

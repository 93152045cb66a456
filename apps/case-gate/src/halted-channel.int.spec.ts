import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { check, gateSite, sealedCase, SETUP_MS } from '../test/running-gate.ts';

let site: Awaited<ReturnType<typeof gateSite>>;
beforeAll(async () => {
  site = await gateSite();
}, SETUP_MS);
afterAll(() => site.stop(), SETUP_MS);

it(
  'while the eligibility channel has lost records the gate denies, and allows again once they are restored',
  async () => {
    const { key, sql } = site;
    const { subjectRef } = await sealedCase(site, key);
    await until(async () => (await check(site, key, subjectRef)) === 'allow ELIGIBLE');
    const [row] = await sql.query<{ channel: string }>({ text: 'SELECT channel FROM ledger.channels' });
    const channel = row!.channel;
    const halt = 'SELECT ledger.halt($1, $2, $3, $4, 1)';
    const losses = [{ epoch: 0, lostFrom: 0, lostUntil: 9, checkpoint: 'note', surviving: null }];
    await sql.query({
      text: halt,
      values: [channel.split('.')[0], channel, 'records are missing', JSON.stringify(losses)],
    });
    const body = { subject_ref: subjectRef, venue_id: 'hall' };
    for (let times = 0; times < 3; times += 1) {
      expect(await site.ask('POST', '/v1/gate/check', { key, body })).toMatchObject({
        status: 503,
        body: { decision: 'deny', allow: false, reason_codes: ['BACKEND_UNAVAILABLE'], fail_closed: true },
      });
    }
    const reason = `Channel ${channel} is halted, because records of it that were signed for are missing`;
    const read = await site.ask('GET', '/v1/cases/case_any', { key });
    expectProblem(read, 'UNAVAILABLE');
    expect(read.body).toMatchObject({ detail: `${reason}.` });
    expect(await site.composition.ready()).toMatchObject({ body: { problem: 'records are missing' } });
    await sql.query({ text: 'SELECT ledger.resume($1)', values: [channel] });
    await until(async () => (await check(site, key, subjectRef)) === 'allow ELIGIBLE');
  },
  SETUP_MS,
);

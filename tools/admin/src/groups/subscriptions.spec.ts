import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runLine } from '../testing/run-line.ts';
import { standInApi } from '../testing/stand-in-api.ts';

const ID = 'sub_1';
const ROW = { subscriptionId: ID, state: 'active', secrets: [{ id: 'k1', createdAt: '2030-01-02T03:04:05.678Z' }] };

const api = await standInApi();
afterAll(() => api.close());
beforeEach(() => api.answer(() => ({ body: ROW })));
const run = (line: string) => runLine(line, { env: api.env });
const bodiesSent = () => api.seen.filter(({ body }) => body !== '').map(({ body }) => JSON.parse(body) as object);

describe('subscriptions', () => {
  it('are created with what is wanted, and the generated secret is shown', async () => {
    api.answer(() => ({ status: 201, body: { ...ROW, secrets: [{ id: 'k1', value: 'whsec_x' }] } }));
    const { code, out } = await run(
      'subscriptions create --url https://hooks.example.com/in --channel acme.main --type a --type b --event commit --from 0 --paused',
    );
    expect(code).toBe(0);
    expect(bodiesSent()).toEqual([
      {
        ...{ url: 'https://hooks.example.com/in', channel: 'acme.main', types: ['a', 'b'], events: ['commit'] },
        ...{ from: '0', paused: true },
      },
    ]);
    expect(out).toContain('k1 whsec_x');
  });

  it('are paused and resumed', async () => {
    await run(`subscriptions change ${ID} --pause`);
    await run(`subscriptions change ${ID} --resume`);
    expect(bodiesSent()).toEqual([{ paused: true }, { paused: false }]);
    expect((await run(`subscriptions change ${ID}`)).code).toBe(2);
  });

  it('get a second secret beside the first, and lose one by its name', async () => {
    await run(`subscriptions add-secret ${ID} k2`);
    expect(bodiesSent()).toEqual([{ secrets: [{ id: 'k1' }, { id: 'k2' }] }]);
    api.answer(() => ({ body: { ...ROW, secrets: [{ id: 'k1' }, { id: 'k2' }] } }));
    await run(`subscriptions remove-secret ${ID} k1 --yes`);
    expect(bodiesSent()).toEqual([{ secrets: [{ id: 'k2' }] }]);
    expect((await run(`subscriptions add-secret ${ID} k1`)).code).toBe(2);
    expect((await run(`subscriptions remove-secret ${ID} k9 --yes`)).code).toBe(2);
  });
});

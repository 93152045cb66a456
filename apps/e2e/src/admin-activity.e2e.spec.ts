import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import { githubSource, newSecret } from './harness/webhook-sender.ts';

let setup: ContractSetup;
beforeAll(async () => {
  setup = await sharedSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

interface Activity {
  readonly from: string;
  readonly hours: readonly { readonly at: string; readonly writes: number; readonly isMore: boolean }[];
  readonly refusals: readonly { readonly at: string; readonly reason: string; readonly deliveries: number }[];
}

const activity = async (query = '') => (await setup.admin.ask('GET', `/activity${query}`)) as unknown as Activity;
const writesOf = ({ hours }: Activity) => hours.reduce((sum, { writes }) => sum + writes, 0);
const refusedFor = ({ refusals }: Activity, reason: string) =>
  refusals.filter((row) => row.reason === reason).reduce((sum, { deliveries }) => sum + deliveries, 0);

describe('the activity of the gateway', () => {
  it('counts writes by hour, and refused deliveries by hour and reason', async () => {
    const before = await activity();
    expect(before.hours).toHaveLength(24);
    expect(before.hours[0]?.at).toBe(before.from);
    const github = await githubSource(setup, { idFrom: '/n', allowedTypes: ['push'] });
    expect((await github.send({ body: '{"n":"activity 1"}' })).status).toBeLessThan(300);
    expect((await github.send({ body: '{"n":2}', secret: newSecret() })).status).toBe(401);
    await until(
      async () => refusedFor(await activity(), 'no-matching-secret') > refusedFor(before, 'no-matching-secret'),
      {
        timeoutMs: 15_000,
      },
    );
    expect(writesOf(await activity())).toBeGreaterThan(writesOf(before));
  });

  it('is of the hours that are asked for', async () => {
    expect((await activity('?hours=1')).hours).toHaveLength(1);
    for (const hours of ['0', '25', 'x'])
      expectProblem(await setup.admin.send('GET', `/activity?hours=${hours}`), 'INVALID_REQUEST');
    expectProblem(await setup.admin.send('GET', '/activity?days=1'), 'UNKNOWN_PARAMETER');
  });
});

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import { deliveriesOf, githubSource, newSecret, newSource } from './harness/webhook-sender.ts';

let setup: ContractSetup;
beforeAll(async () => {
  setup = await sharedSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

const newGithub = () => githubSource(setup);

describe('a source in the admin API', () => {
  it('lists the outcomes of its deliveries', async () => {
    const { send, source } = await newGithub();
    await send({ deliveryId: 'one' });
    await send({ deliveryId: 'one' });
    await send({ secret: newSecret() });
    await send({ secret: newSecret() });
    let deliveryRows: Record<string, unknown>[] = [];
    await until(async () => (deliveryRows = await deliveriesOf(setup.admin, source)).length >= 3, {
      timeoutMs: 10_000,
    });
    expect(deliveryRows.map(({ outcome, code, deliveries }) => [outcome, code, deliveries]).toSorted()).toEqual([
      ['refused', 'UNAUTHENTICATED', 2],
      ['replayed', null, 1],
      ['written', null, 1],
    ]);
    const { items, nextCursor } = await setup.admin.ask('GET', `${source.adminPath}/deliveries?limit=2`);
    const rest = await setup.admin.ask('GET', `${source.adminPath}/deliveries?cursor=${String(nextCursor)}`);
    expect([...(items as object[]), ...(rest['items'] as object[])]).toEqual(deliveryRows);
    const sorted = `${source.adminPath}/deliveries?sort=at`;
    const { items: oldest, nextCursor: next } = await setup.admin.ask('GET', `${sorted}&limit=2`);
    const newest = await setup.admin.ask('GET', `${sorted}&cursor=${String(next)}`);
    expect([...(oldest as object[]), ...(newest['items'] as object[])]).toEqual(deliveryRows.toReversed());
    for (const [query, code] of [
      [`sort=-at&cursor=${String(next)}`, 'INVALID_CURSOR'],
      ['sort=outcome', 'INVALID_REQUEST'],
    ] as const)
      expectProblem(await setup.admin.get(`${source.adminPath}/deliveries?${query}`), code);
  });

  it('accepts a test delivery that is signed here, or reports how it was refused', async () => {
    const { source, channel } = await newGithub();
    const tested = await setup.admin.ask('POST', `${source.adminPath}/test`);
    expect(tested).toMatchObject({ status: 200, code: null, outcome: 'written', records: [{ channel }] });
    await setup.admin.ask('PATCH', source.adminPath, { allowedTypes: [] });
    expect(await setup.admin.ask('POST', `${source.adminPath}/test`, {})).toMatchObject({
      status: 403,
      code: 'ASSET_TYPE_NOT_ALLOWED',
      records: [],
    });
    await setup.admin.ask('PATCH', source.adminPath, { enabled: false });
    expect(await setup.admin.ask('POST', `${source.adminPath}/test`)).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    const publicKey = `whpk_${randomBytes(32).toString('base64')}`;
    const networkId = channel.split('.')[0]!;
    const other = await newSource(setup.admin, networkId, { scheme: 'standard-webhooks', secret: publicKey });
    expectProblem(await setup.admin.send('POST', `${other.adminPath}/test`), 'INVALID_STATE_TRANSITION');
  });

  it.each<[string, object, string]>([
    ['a secret that is too short', { secrets: [{ id: 'k1', value: 'short' }] }, '/secrets/0/value'],
    [
      'a secret twice',
      { secrets: ['a', 'b'].map((end) => ({ id: 'k1', value: `${newSecret()}${end}` })) },
      '/secrets/1/id',
    ],
    ['an hmac without a signature form', { scheme: 'hmac' }, '/signature'],
    ['a token without a header', { scheme: 'token' }, '/token'],
    ['a token of another scheme', { token: { header: 'x-token' } }, '/token'],
    ['an id from a header that holds credentials', { idFrom: 'header:Authorization' }, '/idFrom'],
    ['an invalid place', { typeFrom: 'type' }, '/typeFrom'],
    ['two types', { type: 'a', typeFrom: '/b' }, '/typeFrom'],
    ['no secret', { secrets: [] }, '/secrets'],
    ['an unknown scheme', { scheme: 'gitlab' }, '/scheme'],
  ])('is not created with %s', async (_what, members, pointer) => {
    const networkId = await setup.newNetwork();
    const body = { name: 'A', scheme: 'github', secrets: [{ id: 'k1', value: newSecret() }], ...members };
    const answer = await setup.admin.send('POST', `/networks/${networkId}/sources`, body);
    expectProblem(answer, 'INVALID_REQUEST');
    expect((answer.body as { errors: { pointer: string }[] }).errors.map((one) => one.pointer)).toContain(pointer);
  });

  it('is not created in a missing network, nor with a missing channel; a network with one is in use', async () => {
    const body = { name: 'A', scheme: 'github', secrets: [{ id: 'k1', value: newSecret() }] };
    expectProblem(await setup.admin.send('POST', '/networks/nobody/sources', body), 'NOT_FOUND');
    const { source, networkId } = await newGithub();
    const path = `/networks/${networkId}/sources`;
    expectProblem(await setup.admin.send('POST', path, { ...body, channels: ['none'] }), 'UNKNOWN_CHANNEL', {
      errors: [{ in: 'body', pointer: '/channels/0' }],
    });
    expectProblem(await setup.admin.send('DELETE', `/networks/${networkId}`), 'IN_USE');
    await setup.admin.ask('DELETE', source.adminPath);
    expect((await setup.admin.send('DELETE', `/networks/${networkId}`)).status).toBe(204);
  });
});

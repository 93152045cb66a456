import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { slowProxy, until, type SlowProxy } from '@sealgate/testing';
import { gateSite, SETUP_MS, type GateSite } from '../test/running-gate.ts';

let site: GateSite & { readonly key: string };
let proxy: SlowProxy;
beforeAll(async () => {
  site = await gateSite();
  proxy = await slowProxy(site.database.port);
}, SETUP_MS);
afterAll(async () => {
  await site.stop();
  await proxy.close();
});

// TCP, start-up, three messages of SCRAM and the role are 5 round trips: 500 and 1,000 ms.
it.each([50, 100])(
  'is ready with %d ms to the database in each direction and a deadline of 250 ms',
  async (delayMs) => {
    proxy.delayMs = delayMs;
    const url = Object.assign(new URL(site.database.url), { port: String(proxy.port) }).href;
    const far = await site.replica({ DATABASE_URL: `${url}?target_session_attrs=read-write`, GATE_DEADLINE_MS: '250' });
    await until(async () => (await far.composition.ready()).ok, { timeoutMs: 20_000, what: 'readiness' });
    expect(await far.composition.ready()).toMatchObject({ ok: true });
  },
  60_000,
);

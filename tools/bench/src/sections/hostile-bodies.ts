import { setTimeout as delay } from 'node:timers/promises';
import { recordBody } from '../bodies.ts';
import type { Row } from '../rows/row.ts';
import { makeSender } from '../surfaces/admin.ts';
import { durabilityFaults } from '../surfaces/durable-settings.ts';
import { prepareSite } from '../surfaces/site.ts';
import { hostileBodies, openersName, type HostileBody } from './hostile-body-list.ts';
import { tableSection } from './table-section.ts';

/** Work that the gateway defers to later turns counts as well. */
const deferredMs = 20;

/** One hostile body after another to an otherwise idle gateway, while a probe inside watches its event loop. */
export const hostileBodiesSection = tableSection(async (context, stack) => {
  const site = await prepareSite(context, { name: 'bodies', stack });
  const gateway = await site.start();
  const sender = await makeSender(gateway, 'bodies');
  const row = ({ name, bytes, code, encoding }: HostileBody, more: Partial<Row> = {}): Row => ({
    name: `${name}: ${code ?? 'written'}`,
    watch: site.watch(gateway),
    load: {
      destinations: [{ ...sender, headers: { ...sender.headers, ...(encoding && { 'Content-Encoding': encoding }) } }],
      requests: [{ method: 'POST', path: sender.path, body: bytes }],
      connections: 1,
      ...(code !== undefined && { mustSay: `"code":"${code}"`, expects: [code === 'PAYLOAD_TOO_LARGE' ? 413 : 400] }),
    },
    until: { requests: 1 },
    warmUpRequests: 0,
    watchStalls: (round) =>
      gateway.watchStalls(async () => {
        const result = await round();
        await delay(deferredMs);
        return result;
      }),
    ...more,
  });
  const bodies = hostileBodies().map((body) => row(body));
  const plain: HostileBody = { name: 'a record of 255 bytes', bytes: Buffer.from(recordBody()) };
  const findings: Row['findings'] = (_plain, of) => {
    const all = bodies.map(({ name }) => of(name));
    const [worst] = all.toSorted((one, other) => other.stallMs - one.stallMs);
    return [
      { target: 'openers', value: all.find(({ name }) => name.startsWith(openersName))?.worstMs, of: 'worst' },
      { target: 'stall', value: worst?.stallMs, of: worst?.name ?? '' },
    ];
  };
  return {
    title: 'Hostile bodies',
    rows: [row(plain, { warmUpRequests: 200, findings }), ...bodies],
    notes: [
      "A round is one request; each row names the answer that every round must have. The stall is the longest time between two turns of the gateway's event loop while it processed that body; the first row shows the share of this machine.",
    ],
    withheld: durabilityFaults(site.settings),
  };
});

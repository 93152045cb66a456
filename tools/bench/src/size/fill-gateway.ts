import { randomBytes } from 'node:crypto';
import { fillTable } from '@sealgate/local-services';
import { batchBody, batchRecords, recordBody } from '../bodies.ts';
import type { LoadPlan } from '../load/load-plan.ts';
import { countRecords, makeSender, type Sender } from '../surfaces/admin.ts';
import { isFilled, THROUGH_DOORS } from './amounts.ts';
import { createAll } from './create-all.ts';
import type { FillAt } from './sized-surface.ts';

/** The network that has half of everything. */
export const LARGE = 'large';

/** Events that retention removes in two steps, once it keeps less. All others are younger. */
export const OLD_EVENTS = 1_500;
export const [OLD_DAYS, YOUNG_DAYS, KEPT_DAYS] = [80, 55, 70];
/** Records of the large channel that are sent alone. */
export const singlesOf = (records: number): number =>
  batchRecords * Math.floor(Math.min(THROUGH_DOORS, records / 4) / batchRecords);

/**
 * Half of the records and events are in one channel, the rest over the others. All records come through the door, most of
 * them in batches; the events of records that were not sent alone are copies that name records.
 */
export async function fillGateway(at: FillAt): Promise<Sender[]> {
  const senders = await makeSenders(at);
  await makeNetworksAndKeys(at, senders.length);
  await fillLedger(at, senders);
  await copyEvents(at, senders);
  return senders;
}

async function makeSenders({ surface, amounts }: FillAt): Promise<Sender[]> {
  const senders: Sender[] = [];
  for (let number = 0; number < amounts.channels; number += 1)
    senders.push(await makeSender(surface, number === 0 ? LARGE : `sender-${number}`));
  return senders;
}

async function makeNetworksAndKeys({ context, surface, amounts }: FillAt, made: number): Promise<void> {
  const more = Math.max(0, amounts.networks - made);
  const names = Array.from({ length: more }, (_, number) => `network-${number}`);
  await createAll(
    context,
    surface,
    names.map((networkId) => ['/networks', { networkId, name: `Company ${networkId}` }]),
  );
  const keys = Array.from({ length: Math.max(0, amounts.keys - made) }, (_, number): [string, unknown] => [
    `/networks/${names[number % Math.max(1, names.length)] ?? LARGE}/keys`,
    { label: `Till ${number}` },
  ]);
  await createAll(context, surface, keys);
}

/** Batches of a channel that are sent while none is sent to another: the first creates the channel. */
const ALONE = 2;
/** Connections while filling: each has a channel of its own. */
const fillConnections = 60;

async function fillLedger({ context, site, amounts }: FillAt, senders: readonly Sender[]): Promise<void> {
  const [large, ...others] = senders as [Sender, ...Sender[]];
  const send = (
    plan: Pick<LoadPlan, 'destinations' | 'body'>,
    requests: number,
    connections: number,
  ): Promise<unknown> =>
    context.generator.run({
      ...plan,
      ...{ keyPrefix: `fill-${randomBytes(6).toString('hex')}`, watch: [], connections, until: { requests } },
    });
  const half = amounts.records / 2;
  const singles = singlesOf(amounts.records);
  await send({ destinations: [large], body: recordBody() }, singles, context.options.connections);
  await send({ destinations: [large], body: batchBody(batchRecords) }, (half - singles) / batchRecords, 32);
  // Requests to many channels at once share transactions, and their events are not in the table of which rows are copied.
  for (const sender of others) await send({ destinations: [sender], body: batchBody(batchRecords) }, ALONE, 1);
  const batches = half / batchRecords - ALONE * others.length;
  for (let first = 0; first < others.length; first += fillConnections) {
    const destinations = others.slice(first, first + fillConnections);
    const [before, after] = [first, first + destinations.length].map((place) =>
      Math.round((batches * place) / others.length),
    ) as [number, number];
    await send({ destinations, body: batchBody(batchRecords) }, after - before, destinations.length);
  }
  const inLedger = await countRecords(
    site,
    senders.map(({ channel }) => channel),
  );
  if (!isFilled(inLedger, amounts.records))
    throw new Error(`Filling the ledger failed: it holds ${inLedger} of ${amounts.records} records.`);
}

/** Events of records as if each had been sent alone: by the key of its network, and naming a record that exists. */
async function copyEvents({ site, amounts }: FillAt, senders: readonly Sender[]): Promise<void> {
  const rows = await site.sql.query<{ network: string; size: string; events: string }>({
    text: `SELECT c.network, c.size, (SELECT count(*) FROM ingest.writes w WHERE w.network_id = c.network) AS events
             FROM ledger.channels c WHERE c.size > 0`,
  });
  const there = rows.reduce((sum, { events }) => sum + Number(events), 0);
  const missing = Math.max(OLD_EVENTS, amounts.events - there);
  const share = (network: string): number =>
    network === LARGE ? Math.ceil(missing / 2) : Math.floor(missing / 2 / (senders.length - 1));
  const idAt = (age: string): string =>
    `(lpad(to_hex((extract(epoch FROM now()) * 1000 - (${age}) * 86400000)::bigint), 12, '0')
      || '7000' || substr(md5(g || t.network_id), 1, 16))::uuid`;
  await fillTable(
    site.url,
    'ingest.writes',
    rows.map(({ network, size }) => {
      const count = share(network);
      const age = `${YOUNG_DAYS} * (1 - g::float8 / ${count + 1})`;
      const old = `${OLD_DAYS} - g::float8 / ${OLD_EVENTS}`;
      return {
        count,
        from: `network_id = '${network}'`,
        set: {
          event_id:
            network === LARGE ? `CASE WHEN g <= ${OLD_EVENTS} THEN ${idAt(old)} ELSE ${idAt(age)} END` : idAt(age),
          first_index: `g % ${size}`,
          record_count: '1',
          request_id: `decode('00' || md5('request' || g || t.network_id), 'hex')`,
        },
      };
    }),
  );
}

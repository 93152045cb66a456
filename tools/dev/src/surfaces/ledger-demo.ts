import { hash } from 'node:crypto';
import type { AdminClient } from '../start/admin-client.ts';
import type { Secrets } from '../start/secrets.ts';
import { expectMade, inParallel, pick, postPatiently, spread } from './post-patiently.ts';

interface DemoLedger {
  /** The ingest endpoint, without a trailing slash. */
  readonly url: string;
  readonly key: string;
  readonly admin: AdminClient;
  readonly secrets: Secrets;
  readonly networkId: string;
  /** The full name, `<networkId>.<name>`. */
  readonly channel: string;
}

const untilName = 'demo.ledgerUntil';
const SENDERS = 6;

/**
 * Writes the demo records, unless the last of them exists. If interrupted, the next start continues: the records are
 * the same, because their end date is stored.
 */
export async function fillLedger({ url, key, admin, secrets, networkId, channel }: DemoLedger): Promise<void> {
  const until = Number(secrets.recall(untilName) ?? Date.now());
  secrets.remember(untilName, String(until));
  const requests = ledgerRecords(until);
  const last = `${networkId}-demo-complete`;
  const found = await admin.get(`/ledger/channels/${channel}/records/${last}`);
  if (found.status === 200) return;
  const send = async ({ idempotencyKey, body }: (typeof requests)[number]): Promise<void> => {
    const headers = { 'x-api-key': key, 'idempotency-key': idempotencyKey };
    expectMade(await postPatiently(`${url}/${networkId}`, { headers, body }));
  };
  await inParallel(Array.from({ length: SENDERS }), requests, (_, request) => send(request));
  const complete = { id: last, type: 'demo.import', data: { requests: requests.length } };
  await send({ idempotencyKey: `demo-${last}`, body: complete });
}

/** Records of one request. */
interface DemoRequest {
  /** The Idempotency-Key: equal for equal records, so that they are written once. */
  readonly idempotencyKey: string;
  readonly body: object;
}

const SHIPMENTS = 60;
const DAYS = 45;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const ROUTES = [
  ['Hamburg hub', 'Gdansk depot'],
  ['Rotterdam hub', 'Lyon depot'],
  ['Hamburg hub', 'Rotterdam hub'],
  ['Lyon depot', 'bonded warehouse'],
  ['Gdansk depot', 'rail terminal'],
] as const;
const GOODS = ['vaccines', 'frozen fish', 'machine parts', 'pharmaceuticals', 'cut flowers', 'electronics'] as const;
const CHILLED = ['vaccines', 'frozen fish', 'pharmaceuticals', 'cut flowers'];
const OWNERS = ['nordlicht', 'balticline', 'rhone-transports'] as const;
const INCIDENTS = [
  'Seal broken at handover',
  'Door open for 14 minutes',
  'Pallet damaged',
  'Papers incomplete',
] as const;

/**
 * Events of shipments in the days before `until`: booked, cleared, measured, inspected, delivered. One request for each
 * step, the readings of one journey as a batch. Deterministic for the same `until`.
 * @param until milliseconds since the epoch. Event times are in `occurredAt`: the ledger's own times are the current
 * time.
 */
export function ledgerRecords(until: number): DemoRequest[] {
  return Array.from({ length: SHIPMENTS }, (_, index) => requestsOf(index, until)).flat();
}

function requestsOf(index: number, until: number): DemoRequest[] {
  const shipment = `shipment-${String(index + 1).padStart(4, '0')}`;
  const bookedAt =
    until - DAYS * DAY_MS + Math.floor((index * (DAYS - 2) * DAY_MS) / SHIPMENTS) + spread(index, 90) * MINUTE_MS;
  const [from, to] = pick(ROUTES, index);
  const goods = pick(GOODS, spread(index, 97));
  const owner = pick(OWNERS, index);
  const record = (step: string, hours: number, data: object) => ({
    id: `${shipment}-${step}`,
    type: `demo.${step.replace(/-\d+$/, '')}`,
    owner,
    data: { shipment, occurredAt: new Date(bookedAt + hours * 60 * MINUTE_MS).toISOString(), ...data },
  });
  const one = (made: ReturnType<typeof record>): DemoRequest => ({ idempotencyKey: `demo-${made.id}`, body: made });
  const readings = [6, 14, 22].map((hours, reading) =>
    record(`temperature-${reading + 1}`, hours, {
      celsius: 2 + spread(index * 3 + reading, 60) / 10,
      sensor: `S-${100 + index}`,
    }),
  );
  const papers = hash('sha256', `demo papers ${shipment}`, 'hex');
  return [
    one(record('shipment', 0, { from, to, goods, pallets: 1 + spread(index, 24) })),
    ...(index % 2 === 0
      ? [
          one(
            record('customs', 3, {
              office: from,
              outcome: index % 14 === 6 ? 'held' : 'released',
              papersSha256: papers,
            }),
          ),
        ]
      : []),
    ...(CHILLED.includes(goods)
      ? [{ idempotencyKey: `demo-${shipment}-temperature`, body: { assets: readings } }]
      : []),
    ...(index % 3 === 0
      ? [one(record('inspection', 25, { checkedAt: to, passed: index % 12 !== 9, seal: `SL-${40_000 + index * 7}` }))]
      : []),
    ...(index % 8 === 5
      ? [one(record('incident', 27, { what: pick(INCIDENTS, index), severity: pick(['minor', 'major'], index) }))]
      : []),
    ...(index % 15 === 14
      ? []
      : [one(record('delivery', 30 + spread(index, 12), { at: to, signedBy: 'goods-in', papersSha256: papers }))]),
  ];
}

/** Assets for surface C: the fleet, without dates, so that it can be sent again unchanged. */
export function fleetAssets(): object[] {
  const kinds = [
    ['truck', 'Euro VI, refrigerated'],
    ['trailer', 'Curtain side, 13.6 m'],
    ['container', 'Reefer, 40 ft'],
  ] as const;
  return Array.from({ length: 36 }, (_, index) => {
    const [kind, model] = pick(kinds, index);
    const number = String(Math.floor(index / kinds.length) + 1).padStart(2, '0');
    const data = {
      kind,
      model,
      home: pick(ROUTES, index)[0],
      inService: index % 9 !== 8,
      serial: `NL-${7_000 + index * 13}`,
    };
    return { id: `${kind}-${number}`, type: 'demo.fleet', data };
  });
}

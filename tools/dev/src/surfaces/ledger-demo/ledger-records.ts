import { hash } from 'node:crypto';
import { pick, spread } from '../in-parallel.ts';

/** Records that go to the ledger in one request. */
export interface DemoRequest {
  /** The same for the same records: sent again, they are written once. */
  readonly idempotencyKey: string;
  readonly body: object;
}

const SHIPMENTS = 60;
const DAYS = 9;
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
 * What became of some shipments in the days before `until`: booked, cleared, measured, inspected, delivered. One request for
 * each step, the readings of one journey as a batch. The same each time for the same `until`.
 * @param until milliseconds since the epoch. When things happened stands in `occurredAt`: the ledger's own times are of now.
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
    ...{ id: `${shipment}-${step}`, type: `demo.${step.replace(/-\d+$/, '')}`, owner },
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

/** What surface C is given: the fleet, which has no dates, so that it can be sent again as it is. */
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

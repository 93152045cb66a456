import { describe, expect, it } from '@jest/globals';
import { fleetAssets, ledgerRecords } from './ledger-demo.ts';

const until = Date.parse('2030-05-20T12:00:00.000Z');

interface Sent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly occurredAt: string };
}

const recordsOf = (body: object): Sent[] => ('assets' in body ? (body.assets as Sent[]) : [body as Sent]);
const all = ledgerRecords(until).flatMap(({ body }) => recordsOf(body));

describe('the demo records', () => {
  it('are the same each time, so that each Idempotency-Key has one request', () => {
    expect(ledgerRecords(until)).toEqual(ledgerRecords(until));
    const keys = ledgerRecords(until).map(({ idempotencyKey }) => idempotencyKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect(fleetAssets()).toEqual(fleetAssets());
  });

  it('are a few hundred, with unique ids, of six types', () => {
    expect(all.length).toBeGreaterThan(250);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect([...new Set(all.map(({ type }) => type))].sort()).toEqual([
      ...['demo.customs', 'demo.delivery', 'demo.incident', 'demo.inspection', 'demo.shipment', 'demo.temperature'],
    ]);
  });

  it('are spread over several weeks, none in the future', () => {
    const times = all.map(({ data }) => Date.parse(data.occurredAt));
    expect(Math.max(...times)).toBeLessThanOrEqual(until);
    expect(until - Math.min(...times)).toBeLessThanOrEqual(45 * 86_400_000);
    expect(new Set(all.map(({ data }) => data.occurredAt.slice(0, 10))).size).toBeGreaterThanOrEqual(40);
  });
});

import assert from 'node:assert/strict';

/** The size of the record that every row of the table sends. */
export const recordBytes = 255;

export const batchRecords = 100;

/** How many requests of each kind warm a server up. */
export const warmUpRequests = { single: 40_000, batch: 1_500 };

/** A record as a webhook would send it, exactly 255 bytes of JSON; its id is derived from the Idempotency-Key. */
export function recordBody(): string {
  const record = (memo: string): string =>
    JSON.stringify({
      type: 'invoice.paid',
      owner: 'acme-emea',
      data: {
        invoice: 'INV-2026-000123',
        amount: 1234.5,
        currency: 'EUR',
        paidAt: '2026-01-02T03:04:05.678Z',
        lines: [
          { sku: 'A-1', quantity: 2 },
          { sku: 'B-22', quantity: 10 },
        ],
        memo,
      },
    });
  const body = record('x'.repeat(recordBytes - record('').length));
  assert.equal(Buffer.byteLength(body), recordBytes, 'The table says how large a record is.');
  return body;
}

export function batchBody(records: number): string {
  return `{"assets":[${Array.from({ length: records }, recordBody).join(',')}]}`;
}

import assert from 'node:assert/strict';
import { canonical } from '@sealgate/json';

/** The size of the record in every row of the table. */
const recordBytes = 255;

export const batchRecords = 100;

/** Number of requests of each kind to warm up a server. */
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
  assert.equal(Buffer.byteLength(body), recordBytes, 'The record has the size stated in the table.');
  return body;
}

export function batchBody(records: number): string {
  return `{"assets":[${Array.from({ length: records }, recordBody).join(',')}]}`;
}

/** The data of an asset, exactly as large as that of a record. */
export const assetBytes = recordBytes;

function assetData(): string {
  const data = (memo: string): string => JSON.stringify({ ...JSON.parse(recordBody()).data, memo });
  const text = data('x'.repeat(assetBytes - data('').length));
  assert.equal(Buffer.byteLength(text), assetBytes, 'The asset has the size stated in the table.');
  return text;
}

const numbered = (count: number, element: (id: string) => string): string =>
  Array.from({ length: count }, (_, number) => element(`{key}-${number}`)).join(',');

/** A request to the ledger peer, written as one transaction; `{key}` makes its ids unique. */
export function assetsBody(count: number, type: string): string {
  const data = assetData();
  return `{"assets":[${numbered(count, (id) => `{"id":"${id}","type":"${type}","data":${data}}`)}],"options":{"batchSize":${count}}}`;
}

/** The same as the argument of `createMany`, with the data as canonical text. */
export function recordsArgument(count: number, { type, idPrefix }: { type: string; idPrefix: string }): string {
  const data = JSON.stringify(canonical(JSON.parse(assetData())));
  return `[${numbered(count, (id) => `{"id":"${idPrefix}${id}","type":"${type}","owner":null,"data":${data},"extra":null}`)}]`;
}

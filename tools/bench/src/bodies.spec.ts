import { describe, expect, it } from '@jest/globals';
import { batchBody, recordBody } from './bodies.ts';
import { hostileBodies } from './sections/hostile-body-list.ts';

describe('request bodies', () => {
  it('contain one record of 255 bytes, or a hundred of them', () => {
    expect(Buffer.byteLength(recordBody())).toBe(255);
    expect(JSON.parse(recordBody())).toMatchObject({ type: 'invoice.paid', data: { amount: 1234.5 } });
    const batch: { assets: unknown[] } = JSON.parse(batchBody(100));
    expect(batch.assets).toEqual(Array.from({ length: 100 }, () => JSON.parse(recordBody())));
  });

  it('are hostile within the accepted size', () => {
    for (const { name, bytes } of hostileBodies()) {
      expect([name, bytes.length > 400_000 || name.includes('gzip'), bytes.length <= 1_048_576]).toEqual([
        name,
        true,
        true,
      ]);
    }
  });
});

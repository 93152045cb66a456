import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { peerSetup, type PeerSetup } from './harness/peer-setup.ts';

const MIB = 1_048_576;

let setup: PeerSetup;
beforeAll(async () => {
  setup = await peerSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

interface Page {
  readonly assets: readonly { readonly id: string }[];
  readonly count: number;
  readonly nextCursor: string | null;
}

describe('Large bodies and answers of the peer', () => {
  it(
    'a query accepts a body of the general limit, and not a byte more',
    async () => {
      const text = '{"type":"asset","limit":1}';
      const query = (bytes: number) =>
        setup.ask('POST', '/api/assets/query', { body: text + ' '.repeat(bytes - text.length) });
      expect((await query(8 * MIB)).status).toBe(200);
      expectProblem(await query(8 * MIB + 1), 'PAYLOAD_TOO_LARGE');
    },
    setupTimeoutMs,
  );

  it(
    'a page of large assets ends early, and the pages contain each of them once',
    async () => {
      const ids = Array.from({ length: 7 }, (_, at) => `large-${at}`);
      for (const id of ids) {
        const assets = [{ id, type: 'asset', data: { text: 'x'.repeat(3 * MIB) } }];
        expect((await setup.ask('POST', '/api/assets', { body: { assets } })).status).toBe(200);
      }
      const pages: string[][] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const body: object = { type: 'asset', limit: 1000, ...(cursor === undefined ? {} : { cursor }) };
        const answer = await setup.ask('POST', '/api/assets/query', { body });
        expect(answer.status).toBe(200);
        const { assets, count, nextCursor } = answer.body as Page;
        expect(count).toBe(assets.length);
        pages.push(assets.map(({ id }) => id));
        cursor = nextCursor;
      }
      expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4, 6), ids.slice(6)]);
    },
    setupTimeoutMs,
  );
});

import { describe, expect, it } from '@jest/globals';
import type { ReceiptFile } from '@sealgate/verify/checks';
import { fragmentOf, proofIn } from './outsider-link.ts';

const hash = 'ab'.repeat(32);
const receipt = {
  network: 'acme',
  channel: 'acme.main',
  id: 'order-7 «ü»',
  type: 'order',
  owner: null,
  dataHash: hash,
  salt: hash,
  extra: { source: 'till' },
  transactionId: 'tx-7',
  at: '2026-01-01T00:00:00.000Z',
  index: 7,
};
const proof = {
  channel: 'acme.main',
  index: 7,
  leafHash: hash,
  treeSize: 20,
  inclusionPath: [hash, hash],
  checkpoint: 'log.example/acme.main\n20\nroot\n\n— log.example c2ln\n',
};
const file: ReceiptFile = {
  name: 'proof.json',
  receipt,
  proof,
  contents: [{ where: 'proof.json#/record/data', data: { total: 12 }, members: {} }],
};

async function fragmentWith(text: string): Promise<string> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = Array.from(new Uint8Array(await new Response(packed).arrayBuffer()), (byte) =>
    String.fromCharCode(byte),
  );
  return `#proof=${btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

describe('a link for an outsider', () => {
  it('carries receipt and proof in its fragment, and no content', async () => {
    const fragment = await fragmentOf(file);
    expect(fragment).toMatch(/^#proof=[A-Za-z0-9_-]+$/);
    expect(JSON.parse(new TextDecoder().decode(await proofIn(fragment)))).toEqual({ receipt, proof });
  });

  it('is none for other fragments', async () => {
    for (const other of ['', '#', '#proof', '#top', '?proof=aa']) expect(await proofIn(other)).toBeUndefined();
  });

  it.each([
    ['nothing', '#proof='],
    ['other characters', '#proof=a+b/'],
    ['no compressed data', '#proof=AAAA_'],
    ['a part', fragmentWith('A text that is not only one letter.').then((whole) => whole.slice(0, -8))],
    ['a megabyte of characters', `#proof=${'A'.repeat(1_000_001)}`],
    ['much more than a proof, packed', fragmentWith('x'.repeat(50_000_000))],
  ])('is damaged with %s', async (_, fragment) => {
    await expect(proofIn(await fragment)).rejects.toThrow('is damaged');
  });
});

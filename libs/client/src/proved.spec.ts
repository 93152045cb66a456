import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  dataHashOf,
  declarationLeaf,
  documentSigner,
  generateDocumentKey,
  jwksOf,
  receiptLeaf,
  sealPartnerEnvelope,
  type Declaration,
  type Receipt,
} from '@sealgate/envelope';
import { checkpointText, generateNoteKey, nodeHash, noteSigner } from '@sealgate/merkle';
import { checkRecord, provedEnvelope, provedRiskPartner, UnprovedError, type ProvedRecord } from './index.ts';

const signer = documentSigner(generateDocumentKey());
const pinned = jwksOf([signer.jwk]);
const others = jwksOf([documentSigner(generateDocumentKey()).jwk]);

function envelope(title = 'Fire'): { text: string; signature: string } {
  const { bytes, hashedBytes } = sealPartnerEnvelope({
    orgId: 'org_1',
    generatedAt: '2026-01-01T00:00:00.000Z',
    content: { item: JSON.stringify({ id: 'rsk_1', title }) },
  });
  return { text: bytes.toString(), signature: signer.sign(hashedBytes) };
}

describe('an envelope', () => {
  it('is returned if a pinned key signed it', async () => {
    const { text, signature } = envelope();
    expect(await provedEnvelope(text, signature, pinned)).toMatchObject({ item: { id: 'rsk_1', title: 'Fire' } });
  });

  const { text, signature } = envelope();
  it.each<[string, string, string | null, typeof pinned]>([
    ['a byte was changed', text.replace('Fire', 'Fine'), signature, pinned],
    ['it is another envelope of the same key', envelope('Flood').text, signature, pinned],
    ['it is not signed', text, null, pinned],
    ['it names another hash', text.replace(/(?<="evidence_hash":")[0-9a-f]{64}/, '0'.repeat(64)), signature, pinned],
    ['another key signed it', text, signature, others],
    ['it is cut short', text.slice(0, -1), signature, pinned],
    ['a member is repeated', text.replace('"orgId":"org_1"', '"orgId":"org_1","orgId":"org_1"'), signature, pinned],
    ['it is not an envelope', '{"item":{"id":"rsk_1"}}', signature, pinned],
  ])('is refused if %s', async (_, body, jws, keys) => {
    await expect(provedEnvelope(body, jws, keys)).rejects.toThrow(UnprovedError);
  });
});

describe('a client of the partner API with pinned keys', () => {
  const open: (() => void)[] = [];
  afterEach(() => open.splice(0).forEach((close) => close()));

  async function serving(body: string, headers: Record<string, string> = {}): Promise<string> {
    const server = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close', ...headers }).end(body),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const read = async (baseUrl: string) =>
    provedRiskPartner({ baseUrl, pinned }).GET('/api/v1/risks/{id}', { params: { path: { id: 'rsk_1' } } });

  it('returns what they signed', async () => {
    const { text, signature } = envelope();
    const { data } = await read(await serving(text, { 'evidence-signature': signature }));
    expect(data).toMatchObject({ item: { title: 'Fire' } });
  });

  it('throws for everything else below /api/v1', async () => {
    const { text, signature } = envelope();
    await expect(
      read(await serving(text.replace('Fire', 'Fine'), { 'evidence-signature': signature })),
    ).rejects.toThrow(UnprovedError);
    await expect(read(await serving('{}'))).rejects.toThrow(UnprovedError);
  });

  it('reads paths that are unsigned by contract', async () => {
    const client = provedRiskPartner({ baseUrl: await serving('{"orgId":"org_1"}'), pinned });
    expect((await client.GET('/api/v1/whoami')).data).toEqual({ orgId: 'org_1' });
  });
});

const key = generateNoteKey('ledger.example');
const log = noteSigner(key.privateKey);
const salt = Buffer.alloc(32, 7);
const receipt: Receipt = {
  network: 'demo',
  channel: 'demo.main',
  id: 'order-1',
  type: 'order',
  owner: null,
  dataHash: dataHashOf(salt, { total: 12 }, null),
  salt: salt.toString('hex'),
  extra: null,
  transactionId: 'tx-1',
  at: '2026-01-01T00:00:00.000Z',
  index: 1,
};
const neighbour = Buffer.alloc(32, 1);

/** A log of two entries: the given first entry, then the record. */
function proved(of: Receipt = receipt, first: Buffer = neighbour, origin = 'ledger.example/demo.main'): ProvedRecord {
  const leaf = receiptLeaf(of);
  const root = nodeHash(first, leaf);
  return {
    receipt: of,
    proof: {
      channel: of.channel,
      index: 1,
      leafHash: leaf.toString('hex'),
      treeSize: 2,
      inclusionPath: [first.toString('hex')],
      checkpoint: log.sign(checkpointText({ origin, size: 2, root })),
    },
  };
}

describe('a record', () => {
  it('is proved to be in the log of the pinned key, with this content', async () => {
    await checkRecord(proved(), [key.verifierKey]);
    await checkRecord(proved(), [generateNoteKey('ledger.example').verifierKey, key.verifierKey], {
      data: { total: 12 },
    });
  });

  const good = proved();
  it.each<[string, ProvedRecord, string?]>([
    ['its receipt was changed', { ...good, receipt: { ...receipt, type: 'refund' } }],
    ['its place was changed', { receipt: { ...receipt, index: 0 }, proof: { ...good.proof, index: 0 } }],
    ['receipt and proof are of different entries', { ...good, receipt: { ...receipt, index: 0 } }],
    ['the channel is of another network', proved({ ...receipt, network: 'other' })],
    ['a hash of the path was changed', { ...good, proof: { ...good.proof, inclusionPath: ['0'.repeat(64)] } }],
    ['a hash of the path is malformed', { ...good, proof: { ...good.proof, inclusionPath: ['zz'] } }],
    [
      'the path is too long',
      { ...good, proof: { ...good.proof, inclusionPath: Array(9).fill('0'.repeat(64)) as string[] } },
    ],
    ['the leaf was changed', { ...good, proof: { ...good.proof, leafHash: '0'.repeat(64) } }],
    ['the tree has another size', { ...good, proof: { ...good.proof, treeSize: 3 } }],
    ['the checkpoint is of another channel', proved(receipt, neighbour, 'ledger.example/demo.audit')],
    [
      'the checkpoint was changed',
      { ...good, proof: { ...good.proof, checkpoint: good.proof.checkpoint.replace('\n2\n', '\n3\n') } },
    ],
    ['the checkpoint is not a note', { ...good, proof: { ...good.proof, checkpoint: 'hello' } }],
    ['another key signed it', good, generateNoteKey('ledger.example').verifierKey],
  ])('is refused if %s', async (_, record, pinnedKey = key.verifierKey) => {
    await expect(checkRecord(record, [pinnedKey])).rejects.toThrow(UnprovedError);
  });

  it('is not proved for another or erased content', async () => {
    await expect(checkRecord(proved(), [key.verifierKey], { data: { total: 13 } })).rejects.toThrow('another content');
    const erased = proved({ ...receipt, salt: null });
    await checkRecord(erased, [key.verifierKey]);
    await expect(checkRecord(erased, [key.verifierKey], { data: { total: 12 } })).rejects.toThrow('erased');
  });

  it('is not checked without a key', async () => {
    await expect(checkRecord(proved(), [])).rejects.toThrow('There is no pinned key.');
  });
});

describe('a record that was written after a declared loss', () => {
  const origin = 'ledger.example/demo.main/e1';
  const statement: Declaration = {
    type: 'sealgate.declaration.v1',
    network: 'demo',
    channel: 'demo.main',
    epoch: 1,
    origin,
    lost: [],
    reason: 'a restore',
    actor: 'ops',
    at: '2026-01-01T00:00:00.000Z',
  };
  const later: Receipt = { ...receipt, epoch: 1 };

  function after(declared: Declaration): ProvedRecord {
    const first = declarationLeaf(declared);
    const { receipt: own, proof } = proved(later, first, origin);
    return {
      receipt: own,
      proof: { ...proof, epoch: 1, origin, declaration: { statement: declared, inclusionPath: [proof.leafHash] } },
    };
  }

  it('is proved in the log that starts with the declaration', async () => {
    await checkRecord(after(statement), [key.verifierKey]);
  });

  it.each<[string, ProvedRecord]>([
    [
      'the declaration is missing',
      { ...after(statement), proof: { ...proved(later, neighbour, origin).proof, epoch: 1 } },
    ],
    ['the declaration is of another epoch', after({ ...statement, epoch: 2 })],
    ['the declaration is of another channel', after({ ...statement, channel: 'demo.audit' })],
    [
      'the declaration was changed',
      (() => {
        const { receipt: own, proof } = after(statement);
        return {
          receipt: own,
          proof: { ...proof, declaration: { ...proof.declaration!, statement: { ...statement, reason: 'none' } } },
        };
      })(),
    ],
  ])('is refused if %s', async (_, record) => {
    await expect(checkRecord(record, [key.verifierKey])).rejects.toThrow(UnprovedError);
  });
});

import { describe, expect, it } from '@jest/globals';
import { canonical, parseStrict, sha256, type JsonValue } from '@sealgate/json';
import fc from 'fast-check';
import { hashedBytesOf, hasTrueHash, isPartnerEnvelope, sealPartnerEnvelope, type PartnerEnvelope } from './index.ts';

/** The contract's example: these bytes have this hash. */
const VECTOR =
  '{"contractVersion":"svc.partner.v1","generatedAt":"2026-01-01T00:00:00.000Z","items":[{"createdAt":"2025-12-31T23:59:59.999Z","criticality":"high","id":"ast_01","name":"Zürich edge — «€»","ownerId":null,"ratio":0.000001,"score":1e+21,"tags":[],"type":"system"}],"orgId":"org_demo","pagination":{"count":1,"limit":2,"nextCursor":null},"snapshotId":"snap_000000000001","verified_no_npi":true}';
const VECTOR_HASH = '6775b6e1f9e90b4b1f38ca200e7e4d5f70316a232d730967113e628f23951ae0';

const item = VECTOR.slice(VECTOR.indexOf('[') + 1, VECTOR.indexOf(',"orgId"') - 1);
const parsed = (text: string | Buffer): PartnerEnvelope => parseStrict(Buffer.from(text)) as PartnerEnvelope;

describe('a partner envelope', () => {
  const sealed = sealPartnerEnvelope({
    orgId: 'org_demo',
    generatedAt: '2026-01-01T00:00:00.000Z',
    snapshotId: 'snap_000000000001',
    content: { items: [item], pagination: { limit: 2, count: 1, nextCursor: null } },
  });

  it("has the documented hash for the contract's example", () => {
    expect(sha256(VECTOR).toString('hex')).toBe(VECTOR_HASH);
    expect(sealed.hashedBytes.toString()).toBe(VECTOR);
    expect(sealed.evidenceHash).toBe(VECTOR_HASH);
  });

  it('is sent in canonical form, with its hash', () => {
    const envelope = parsed(sealed.bytes);
    expect(canonical({ ...envelope })).toBe(sealed.bytes.toString());
    expect(envelope['evidence_hash']).toBe(VECTOR_HASH);
    expect(hasTrueHash(envelope)).toBe(true);
    expect(hashedBytesOf(envelope)).toEqual(sealed.hashedBytes);
  });

  it('has a single item if one was requested, and no snapshot if there is none', () => {
    const one = sealPartnerEnvelope({ orgId: 'o', generatedAt: '2026-01-01T00:00:00.000Z', content: { item } });
    expect(Object.keys(parsed(one.bytes))).toEqual([
      'contractVersion',
      'evidence_hash',
      'generatedAt',
      'item',
      'orgId',
      'verified_no_npi',
    ]);
  });

  it('is canonical and has a correct hash for any items', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.string(), fc.option(fc.string()), (values, orgId, cursor) => {
        const items = values.map((value) => canonical(JSON.parse(JSON.stringify(value)) as JsonValue));
        const pagination = { limit: 50, count: items.length, nextCursor: cursor };
        const { bytes } = sealPartnerEnvelope({ orgId, generatedAt: 'now', content: { items, pagination } });
        const text = bytes.toString();
        const envelope = JSON.parse(text) as PartnerEnvelope;
        expect(canonical({ ...envelope })).toBe(text);
        expect(hasTrueHash(envelope)).toBe(true);
      }),
    );
  });

  it('no longer has a correct hash after any change', () => {
    const envelope = parsed(sealed.bytes);
    for (const member of Object.keys(envelope)) {
      expect(hasTrueHash({ ...envelope, [member]: 'other' })).toBe(false);
      const { [member]: _gone, ...rest } = envelope;
      expect(hasTrueHash(rest)).toBe(false);
    }
  });

  it('is distinguished from other documents by its contract version', () => {
    expect(isPartnerEnvelope(parseStrict(sealed.bytes))).toBe(true);
    for (const other of [null, 'svc.partner.v1', [], {}, { contractVersion: 'svc.partner.v2' }])
      expect(isPartnerEnvelope(other)).toBe(false);
  });
});

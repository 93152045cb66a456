import { createPrivateKey, sign, X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { msp } from '@hyperledger/fabric-protos';
import { certificateAuthority, type Certified } from './certificates.ts';
import { membership } from './membership.ts';

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const authority = certificateAuthority('Org1MSP');
const members = membership(new Map([['Org1MSP', authority.cert]]));
const creatorOf = (mspId: string, { cert }: Certified) => {
  const identity = new msp.SerializedIdentity();
  identity.setMspid(mspId);
  identity.setIdBytes(Buffer.from(cert));
  return identity.serializeBinary();
};

const integer = (value: bigint) => {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  const positive = bytes[0]! < 0x80 ? bytes : Buffer.concat([Buffer.from([0]), bytes]);
  return Buffer.concat([Buffer.from([0x02, positive.length]), positive]);
};
/** Both valid signatures of the text: (r, s) and (r, n - s), the one with the lower s first. */
function signatures(text: Buffer, key: string): readonly [Buffer, Buffer] {
  const raw = sign('sha256', text, { key: createPrivateKey(key), dsaEncoding: 'ieee-p1363' });
  const [r, s] = [raw.subarray(0, 32), raw.subarray(32)].map((bytes) => BigInt(`0x${bytes.toString('hex')}`));
  const der = (value: bigint) => {
    const numbers = Buffer.concat([integer(r!), integer(value)]);
    return Buffer.concat([Buffer.from([0x30, numbers.length]), numbers]);
  };
  const other = ORDER - s!;
  return s! < other ? [der(s!), der(other)] : [der(other), der(s!)];
}

describe('membership', () => {
  const client = authority.issue('client');

  it('finds the holder of a certificate of its CA', () => {
    expect(members.find(creatorOf('Org1MSP', client))?.mspId).toBe('Org1MSP');
  });

  it.each([
    ['another CA of the same name', creatorOf('Org1MSP', certificateAuthority('Org1MSP').issue('client'))],
    ['an unknown organisation', creatorOf('Org2MSP', client)],
    ['no identity', Buffer.from('nobody')],
  ])('does not find %s', (_who, creator) => {
    expect(members.find(creator)).toBeUndefined();
  });

  it('accepts only signatures in the low form', () => {
    const text = Buffer.from('text');
    const [low, high] = signatures(text, client.key);
    const member = members.find(creatorOf('Org1MSP', client))!;
    expect(member.signed(text, low)).toBe(true);
    expect(member.signed(text, high)).toBe(false);
    expect(member.signed(Buffer.from('other'), low)).toBe(false);
    expect(member.signed(text, signatures(text, authority.issue('other').key)[0])).toBe(false);
    expect(member.signed(text, Buffer.alloc(0))).toBe(false);
  });
});

describe('certificateAuthority', () => {
  it('issues certificates that Node can parse', () => {
    const ca = new X509Certificate(authority.cert);
    const server = new X509Certificate(authority.issue('peer0', { loopback: true }).cert);
    expect(ca.ca).toBe(true);
    expect(server.ca).toBe(false);
    expect(server.checkIssued(ca)).toBe(true);
    expect(server.verify(ca.publicKey)).toBe(true);
    expect(server.checkHost('localhost')).toBe('localhost');
    expect(server.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(server.subject).toBe('O=Org1MSP\nCN=peer0');
    expect(server.validTo).toBe('Dec 31 23:59:59 2049 GMT');
    const { cert } = authority.issue('old', { validTo: new Date('2021-02-03T04:05:06Z') });
    expect(new X509Certificate(cert).validTo).toBe('Feb  3 04:05:06 2021 GMT');
  });
});

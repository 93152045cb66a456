import { describe, expect, it } from '@jest/globals';
import { canonical, type JsonValue, sha256 } from '@sealgate/json';
import { certificateAuthority } from '@sealgate/testing/fabric';
import {
  client,
  inHighForm,
  north,
  northPeer,
  signerOf,
  south,
  southIssuer,
  southPeer,
  trustFile,
} from '../testing/fabric-members.ts';
import { type FabricFile, fabricProof, type ProofPlan } from '../testing/fabric-proofs.ts';
import { checkFabric } from './check-fabric.ts';
import { readFabricProof } from './proof-file.ts';
import { readTrustFile } from './trust-file.ts';

type Trust = ReturnType<typeof trustFile>;

const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as JsonValue;

async function check(file: object, trust: Trust = trustFile(), content?: JsonValue) {
  return checkFabric({
    file: readFabricProof('proof.json', plain(file)),
    trust: await readTrustFile('trust.json', plain(trust)),
    content: content === undefined ? undefined : { where: 'sent.json#', value: content },
  });
}

/** The steps that failed, with their sentences. */
const failuresOf = ({ steps }: Awaited<ReturnType<typeof check>>) =>
  steps.flatMap(({ step, status, detail }) => (status === 'failed' ? [`${step}: ${detail}`] : []));

/** Changes one byte in the middle of a base64 text. */
function bent(text: string): string {
  const bytes = Buffer.from(text, 'base64');
  const at = Math.floor(bytes.length / 2);
  bytes[at] = bytes[at]! ^ 1;
  return bytes.toString('base64');
}

const foreign = certificateAuthority('North');
const foreignPeer = signerOf('NorthMSP', foreign, 'peer0', { unit: 'peer' });
const secondNorthPeer = signerOf('NorthMSP', north, 'peer1', { unit: 'peer' });
const northClient = signerOf('NorthMSP', north, 'other', { unit: 'client' });
const directSouthPeer = signerOf('SouthMSP', south, 'peer2', { unit: 'peer' });
const expiredPeer = signerOf('NorthMSP', north, 'peer3', { unit: 'peer', validTo: new Date('2025-01-01T00:00:00Z') });

const withHash = (content: Record<string, JsonValue>) => ({
  ...content,
  contentHash: sha256(canonical(content)).toString('hex'),
});

describe('a proof of a record on Fabric', () => {
  it('is verified, with intermediate authorities and keys of P-256 and P-384', async () => {
    const report = await check(fabricProof());
    expect(failuresOf(report)).toEqual([]);
    expect(report.verified).toBe(true);
    expect(report.conclusion).toMatch(
      /^Peers of NorthMSP and SouthMSP signed that record order-7 \(version 1\) is in the channel both, valid, by transaction [0-9a-f]{64} in block 6\.$/,
    );
    expect(report.notes.join(' ')).toContain('endorsed by NorthMSP, SouthMSP.');
    expect(report.notes.join(' ')).toContain('nobody signed that name');
  });

  it('is verified alone, without asset, receipt and block', async () => {
    const { block: _, ...proof } = fabricProof().proof;
    expect((await check(proof)).verified).toBe(true);
  });

  it('is verified with the content beside the receipt, or the whole record, and with content that was given', async () => {
    const { receipt, proof } = fabricProof();
    const whole = { id: 'order-7', network: 'acme', channel: 'acme.main', owner: null, data: { total: 12 } };
    for (const record of [{ data: { total: 12 } }, whole])
      expect(failuresOf(await check({ receipt, proof, record }))).toEqual([]);
    for (const content of [{ total: 12 }, whole])
      expect(failuresOf(await check({ receipt, proof }, trustFile(), content))).toEqual([]);
  });

  it.each<[string, Record<string, JsonValue>, string]>([
    ['other data', { data: { total: 13 } }, 'content: Not as proved: data.'],
    ['another owner', { data: { total: 12 }, owner: 'eve' }, 'content: Not as proved: owner.'],
    ['another channel', { channel: 'acme.other' }, 'content: Not as proved: channel.'],
    ['a member more', { paid: null }, 'content: Not as proved: paid.'],
  ])('is refused with a record beside it that has %s', async (_what, record, refusal) => {
    const { receipt, proof } = fabricProof();
    expect(failuresOf(await check({ receipt, proof, record }))).toEqual([refusal]);
  });

  it('is refused with other content than was given', async () => {
    expect(failuresOf(await check(fabricProof(), trustFile(), { total: 13 }))).toEqual([
      'content: This is not the content that was proved.',
    ]);
  });

  it('is of a record in a shared channel, where ids and types have a prefix', async () => {
    const file = fabricProof({ prefix: 'acme.main/', readArgs: ['records:read', 'acme.main/order-7'] });
    expect(failuresOf(await check(file))).toEqual([]);
    // The receipt of the record of that name in another channel of theirs.
    file.receipt['channel'] = 'acme.other';
    expect(failuresOf(await check(file))).toEqual([
      'receipt: Not as proved: id, type.',
      'asset: Not as proved: id, type.',
    ]);
  });

  it('stands after the revocation of who submitted it, and after the policy has changed', async () => {
    const trust = trustFile();
    trust.organizations[0]!.revocationLists.push(north.revoke(client.cert));
    const [chaincode] = trust.chaincodes;
    chaincode!.policy = { n: 1, of: [{ mspId: 'NorthMSP', role: 'member' }] };
    const report = await check(fabricProof({ signers: [northPeer] }), trust);
    expect(failuresOf(report)).toEqual([]);
    expect(report.notes.join(' ')).toContain('is revoked by now');
  });

  it.each<[string, Partial<ProofPlan>, string]>([
    ['another record than was written', { read: (one) => ({ ...one, data: { total: 13 } }) }, 'record: '],
    [
      'another record and its content hash',
      { read: (one) => ({ ...one, ...withHash({ type: 'demo.order', owner: 'eve', data: {}, extra: null }) }) },
      'write: The transaction does not write the record with this hash.',
    ],
    ['the record of another transaction', { read: (one) => ({ ...one, transactionId: 'ab'.repeat(32) }) }, 'record: '],
    ['another version', { read: (one) => ({ ...one, version: 2 }) }, 'write: '],
    ['a record that was not asked for', { readArgs: ['read', 'order-8'] }, 'record: '],
    ['the answer of another function', { readArgs: ['history', 'order-7'] }, 'proposal: '],
    ['a refusal of the contract', { readStatus: 500 }, 'payload: The answer to the view is with the status 500.'],
    ['a transaction that is invalid', { code: 11 }, 'validation: The peers found the transaction invalid'],
    ['another transaction than was asked for', { askedFor: 'ab'.repeat(32) }, 'transaction: '],
    ['a block of another number', { blockNumber: 99 }, 'block: The block is not block 6, from which the record was'],
    ['another channel', { channel: 'either' }, 'channel: The proof is of another channel'],
    [
      'signatures in the high form',
      { signers: [northPeer, secondNorthPeer], signature: inHighForm },
      'in the high form',
    ],
    ['one organisation only', { signers: [northPeer] }, 'policy: The signers of the view do not satisfy'],
    ['one peer twice', { signers: [northPeer, northPeer] }, 'policy: '],
    ['two peers of one organisation', { viewSigners: [northPeer, secondNorthPeer] }, 'policy: '],
    ['a client in place of a peer', { signers: [northClient, southPeer] }, 'policy: '],
    ['nobody', { signers: [] }, 'payload: No peer answered the view.'],
    [
      'a foreign root of the same name',
      { signers: [foreignPeer, southPeer] },
      'certificate: A signer of the view is not',
    ],
    ['a root that has an intermediate below it', { signers: [northPeer, directSouthPeer] }, 'certificate: '],
    ['an unknown organisation', { signers: [{ ...southPeer, mspId: 'EastMSP' }] }, 'EastMSP is not in the trust file'],
    ['a member of another organisation', { signers: [{ ...southPeer, mspId: 'NorthMSP' }] }, 'certificate: '],
    ['a key of another peer', { signers: [{ ...northPeer, key: secondNorthPeer.key }] }, 'is not by this key'],
    ['an expired certificate', { signers: [expiredPeer, southPeer] }, 'certificate: The certificate of'],
    ['a time before its certificates', { atSeconds: 1_500_000_000 }, 'was not valid when the view was asked'],
    [
      'a foreign creator',
      { creator: signerOf('NorthMSP', foreign, 'eve') },
      'creator: The view is by an unknown creator',
    ],
    [
      'a foreign submitter',
      { submitter: signerOf('EastMSP', foreign, 'eve') },
      'creator: The transaction is by an unknown',
    ],
    ['a creator without the key', { creator: { ...client, key: northPeer.key } }, 'creator: The signature of'],
    ['a submitter without the key', { submitter: { ...client, key: northPeer.key } }, 'creator: The signature of'],
  ])('is refused although it is signed as it is: %s', async (_what, changes, refusal) => {
    const report = await check(fabricProof(changes));
    expect(report.verified).toBe(false);
    expect(failuresOf(report).join('\n')).toContain(refusal);
  });

  it.each<[string, (file: FabricFile) => void, string]>([
    ['the answer', ({ proof: { view } }) => void (view.responses[0]!.payload = bent(view.responses[0]!.payload)), ': '],
    [
      'every copy of the answer',
      ({ proof: { view } }) => {
        const payload = bent(view.responses[0]!.payload);
        for (const response of view.responses) response.payload = payload;
      },
      'over the view is not by this key',
    ],
    [
      'an endorsement',
      ({ proof: { view } }) => {
        const bytes = Buffer.from(view.responses[1]!.endorsement, 'base64');
        bytes[bytes.length - 1] = bytes.at(-1)! ^ 1;
        view.responses[1]!.endorsement = bytes.toString('base64');
      },
      'signature: ',
    ],
    ['the organisation beside it', ({ proof }) => void (proof.view.responses[0]!.mspId = 'SouthMSP'), 'signature: '],
    ['the proposal', ({ proof: { view } }) => void (view.proposal = bent(view.proposal)), ': '],
    [
      'the proposal, for another one of the same caller',
      ({ proof }) => void (proof.view.proposal = fabricProof().proof.view.proposal),
      'payload: The answer to the view is to another proposal.',
    ],
    [
      'the statement, for the one of another transaction',
      ({ proof }) => {
        const { transactionId } = proof.statement;
        proof.statement = { ...fabricProof().proof.statement, transactionId };
      },
      'proposal: The peers were asked something else for the statement.',
    ],
    [
      'the statement and its transaction id',
      ({ proof }) => void (proof.statement = fabricProof().proof.statement),
      'record: The record order-7 is not of the transaction of the statement',
    ],
    ['the view, for the statement', ({ proof }) => void (proof.view = proof.statement), 'proposal: '],
    ['the channel', ({ proof }) => void (proof.channel = 'either'), 'channel: '],
    ['the chaincode', ({ proof }) => void (proof.chaincode = 'other'), 'chaincode: '],
    ['the receipt', ({ receipt }) => void (receipt['owner'] = 'eve'), 'receipt: Not as proved: owner.'],
    ['the receipt, by a member', ({ receipt }) => void (receipt['blockNumber'] = 1234), 'proved: blockNumber.'],
    ['the receipt, without a member', ({ receipt }) => void delete receipt['owner'], 'receipt: Not as proved: owner.'],
    ['the network', ({ receipt }) => void (receipt['network'] = 'evil'), 'receipt: Its channel is not one of its net'],
    ['the channel of the receipt', ({ receipt }) => void delete receipt['channel'], 'receipt: Its channel is not one'],
    ['the asset, without a member', ({ asset }) => void delete asset['owner'], 'asset: Not as proved: owner.'],
    ['the asset', ({ asset }) => void (asset['data'] = { total: 13 }), 'asset: Not as proved: data.'],
    ['the asset, by a member', ({ asset }) => void (asset['paid'] = true), 'asset: Not as proved: paid.'],
    ['the block', ({ proof }) => void (proof.block = bent(proof.block)), 'block: '],
    ['the block, for another one', ({ proof }) => void (proof.block = fabricProof().proof.block), 'block: '],
    ['the proposal, for no message', ({ proof }) => void (proof.view.proposal = 'AAAA'), 'proposal: '],
  ])('is refused after a change of %s', async (_what, change, refusal) => {
    const file = fabricProof();
    change(file);
    const report = await check(file);
    expect(report.verified).toBe(false);
    expect(failuresOf(report).join('\n')).toContain(refusal);
  });

  it.each<[string, (trust: Trust) => void, string]>([
    [
      'another root',
      ({ organizations: [, southern] }) => void (southern!.roots = [certificateAuthority('South').cert]),
      'certificate: ',
    ],
    ['no intermediate', ({ organizations: [, southern] }) => void (southern!.intermediates = []), 'certificate: '],
    [
      'a revocation list with a signer',
      ({ organizations: [northern] }) => void northern!.revocationLists.push(north.revoke(northPeer.cert)),
      'revocation: The certificate of O=North,OU=peer,CN=peer0 of NorthMSP is revoked.',
    ],
    [
      'a revocation list with an intermediate',
      ({ organizations: [, southern] }) => void southern!.revocationLists.push(south.revoke(southIssuer.cert)),
      'revocation: The certificate of O=South,CN=issuer.south of SouthMSP is revoked.',
    ],
    [
      'other units',
      ({ organizations: [northern] }) => void (northern!.units = { ...northern!.units, peer: { unit: 'node' } }),
      'policy: ',
    ],
    ['one organisation', ({ organizations }) => void organizations.pop(), 'SouthMSP is not in the trust file'],
    ['no policy of the chaincode', (trust) => void (trust.chaincodes = []), 'chaincode: '],
    ['another channel', (trust) => void (trust.channel = 'either'), 'channel: '],
  ])('is refused by a trust file with %s', async (_what, change, refusal) => {
    const trust = trustFile();
    change(trust);
    const report = await check(fabricProof(), trust);
    expect(report.verified).toBe(false);
    expect(failuresOf(report).join('\n')).toContain(refusal);
  });

  it('is verified while a revocation list has others', async () => {
    const trust = trustFile();
    trust.organizations[0]!.revocationLists.push(north.revoke(secondNorthPeer.cert));
    expect((await check(fabricProof(), trust)).verified).toBe(true);
  });
});

describe('a trust file', () => {
  it.each<[string, (trust: Trust) => void, RegExp]>([
    ['of another kind', (trust) => void (trust.kind = 'trust'), /no trust file/],
    ['with a root that is none', ({ organizations: [one] }) => void (one!.roots = [northPeer.cert]), /of an authority/],
    [
      'with a root that is no PEM',
      ({ organizations: [one] }) => void (one!.roots = ['x']),
      /roots\/0 is no certificate/,
    ],
    [
      'with a list that is none',
      ({ organizations: [one] }) => void one!.revocationLists.push('x'),
      /no revocation list/,
    ],
    [
      'with a list of another authority',
      ({ organizations: [one] }) => void one!.revocationLists.push(foreign.revoke(northPeer.cert)),
      /is not signed by an authority/,
    ],
    ['with a policy of nobody', ({ chaincodes: [one] }) => void (one!.policy.n = 0), /whole number from 1/],
    ['with an unknown role', ({ chaincodes: [one] }) => void (one!.policy.of[0]!.role = 'king'), /role is none of/],
  ])('is unreadable %s', async (_what, change, why) => {
    const trust = trustFile();
    change(trust);
    await expect(readTrustFile('trust.json', plain(trust))).rejects.toThrow(why);
  });
});

import { describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey, jwksOf } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { noteVerifier } from '@sealgate/merkle';
import { runCli } from './cli.ts';
import { checkPack } from './check-pack.ts';
import { readTrustFile } from './fabric/trust-file.ts';
import { checkSealsByPeers } from './fabric-checks.ts';
import { readPackFile } from './pack-file.ts';
import type { Report } from './report.ts';
import { northPeer, trustFile } from './testing/fabric-members.ts';
import { directoryOf } from './testing/sample-log.ts';
import { edited, jwks, logKey, packOf, parts, partsOnFabric, timeline, type Members } from './testing/sample-pack.ts';
import { UnreadableError } from './shape.ts';

const verifier = noteVerifier(logKey.verifierKey);
const judge = (pack: Members, keys: typeof jwks | 'none' = jwks) =>
  checkPack({ file: readPackFile('pack.json', pack), jwks: keys === 'none' ? undefined : keys, verifier });
const failedSteps = (pack: Members): string[] => [
  ...new Set(judge(pack).steps.flatMap(({ step, status }) => (status === 'failed' ? [step] : []))),
];

async function judgeByPeers(pack: Members) {
  const file = readPackFile('pack.json', pack);
  const trust = await readTrustFile('trust.json', JSON.parse(JSON.stringify(trustFile())));
  return checkPack({ file, jwks, verifier: undefined, byPeers: await checkSealsByPeers(file, trust) });
}
const failuresIn = ({ steps }: Report) =>
  steps.flatMap(({ step, status, where }) => (status === 'failed' ? [`${step} ${where}`] : []));

describe('a pack with a seal on Fabric', () => {
  it('is verified by what peers signed of exactly the shown document, without a key of a log', async () => {
    const report = await judgeByPeers(packOf(partsOnFabric()));
    expect(failuresIn(report)).toEqual([]);
    expect(report.conclusion).toContain('Its 1 seal(s) are in the Fabric channel both, valid, as peers signed.');
    expect(report.notes.join(' ')).toContain('It does not prove when that was');
  });

  it.each<[string, Members, string]>([
    [
      'another document',
      edited(partsOnFabric(), ['seals', 0, 'document', 'decision'], 'decline'),
      'content pack.json#/seals/0/document',
    ],
    [
      'another id',
      edited(partsOnFabric(), ['seals', 0, 'ledger_record_id'], 'x'),
      'seal record pack.json#/seals/0/proof',
    ],
    [
      'another receipt',
      edited(partsOnFabric(), ['seals', 0, 'proof', 'receipt', 'type'], 'note'),
      'seal type pack.json#/seals/0/proof/receipt/type',
    ],
    ['one signer', partsOnFabric({ signers: [northPeer] }), 'policy pack.json#/seals/0/proof#/proof/view'],
    ['a code that is not VALID', partsOnFabric({ code: 11 }), 'validation pack.json#/seals/0/proof#/proof/statement'],
    [
      'a record of another type',
      partsOnFabric({ record: { id: 'ledger_rec_1', type: 'note', data: {} } }),
      'seal type pack.json#/seals/0/proof/receipt/type',
    ],
  ])('is refused with %s, even if signed', async (_, pack, failure) => {
    expect(failuresIn(await judgeByPeers(packOf(pack))).join('\n')).toContain(failure);
  });

  it('is checked from the command line, which names the trust file that it needs', async () => {
    const both = edited(partsOnFabric(), ['seals', 1], (parts()['seals'] as JsonValue[])[0]!);
    const directory = await directoryOf(
      new Map([
        ['pack.json', JSON.stringify(packOf(partsOnFabric()))],
        ['both.json', JSON.stringify(packOf(both))],
        ['jwks.json', JSON.stringify(jwks)],
        ['both.trust', JSON.stringify(trustFile())],
      ]),
    );
    const run = async (line: string) => {
      let text = '';
      const say = (more: string) => void (text += more);
      return { code: await runCli(line.split(' '), { out: say, err: say, directory }), text };
    };
    const verified = await run('pack pack.json --jwks jwks.json --trust both.trust');
    expect(verified.text).toContain('VERIFIED. The pack of case_1');
    expect(verified.code).toBe(0);
    expect((await run('pack pack.json --trust both.trust')).code).toBe(1);
    const untrusted = await run(`pack pack.json --jwks jwks.json --key ${logKey.verifierKey}`);
    expect(untrusted).toMatchObject({
      code: 2,
      text: expect.stringContaining('the Fabric channel both: give the trust'),
    });
    expect(await run('pack both.json --jwks jwks.json --trust both.trust')).toMatchObject({
      code: 2,
      text: expect.stringContaining('No key to verify with'),
    });
    const all = await run(`pack both.json --jwks jwks.json --trust both.trust --key ${logKey.verifierKey}`);
    expect(all).toMatchObject({
      code: 0,
      text: expect.stringContaining('Its 1 seal(s) are in the log. Its 1 seal(s)'),
    });
  });
});

describe('an assessor pack', () => {
  it('is verified by its signature, its chain and the proofs of its seals', () => {
    const report = judge(packOf(parts()));
    expect(report.steps.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(report.verified).toBe(true);
    expect(report.conclusion).toContain('The pack of case_1 is what was signed');
  });

  it('is not verified without pinned keys, nor with other keys', () => {
    expect(judge(packOf(parts()), 'none')).toMatchObject({ verified: false, conclusion: 'Failed: pack signature.' });
    const stranger = jwksOf([documentSigner(generateDocumentKey()).jwk]);
    expect(judge(packOf(parts()), stranger).conclusion).toBe('Failed: pack signature.');
  });

  it('names a seal on Fabric, which has no proof, for comparison there', () => {
    const pack = packOf(edited(parts(), ['seals', 0, 'proof'], null));
    const report = judge(pack);
    expect(report).toMatchObject({
      verified: true,
      conclusion: expect.stringContaining('1 seal(s) are said to be on'),
    });
    expect(report.conclusion).not.toContain('in the log');
    expect(JSON.stringify(report)).toContain('The seal ledger_rec_1 has no proof');
    // The rest of the pack is still checked, and removing a proof changes the pack.
    expect(failedSteps(packOf(edited(pack, ['seals', 0, 'seal_hash'], '0'.repeat(64))))).toContain('seal hash');
    expect(failedSteps(edited(packOf(parts()), ['seals', 0, 'proof'], null))).toContain('pack hash');
  });

  it('may have another generation time', () => {
    expect(judge({ ...packOf(parts()), generated_at: '2027-01-01T00:00:00.000Z' }).verified).toBe(true);
  });

  it.each<[string, (string | number)[], JsonValue]>([
    ['its status', ['status'], 'decided'],
    ['an event', ['timeline', 0, 'actor'], 'key_2'],
    ['a new member', ['note'], 'x'],
  ])('detects a change of %s without the key', (_, path, value) => {
    expect(failedSteps(edited(packOf(parts()), path, value))).toEqual(
      expect.arrayContaining(['pack hash', 'pack signature']),
    );
  });

  it.each<[string, (string | number)[], JsonValue, string]>([
    ['an event changed', ['timeline', 1, 'data'], { forged: true }, 'timeline'],
    ['an event left out', ['timeline'], timeline().filter((_, index) => index !== 1), 'timeline'],
    ['no events', ['timeline'], [], 'timeline'],
    ['another document', ['seals', 0, 'document', 'decision'], 'decline', 'content'],
    ['another seal hash', ['seals', 0, 'seal_hash'], '0'.repeat(64), 'seal hash'],
    ['another record', ['seals', 0, 'ledger_record_id'], 'ledger_rec_2', 'seal record'],
    ['another type of record', ['seals', 0, 'proof', 'receipt', 'type'], 'note', 'seal type'],
    ['another leaf', ['seals', 0, 'proof', 'proof', 'leafHash'], '0'.repeat(64), 'leaf'],
    ['another decision beside it', ['decisions', 0, 'reason_codes'], [], 'seal document'],
    ['other attachments beside it', ['attachments'], [], 'seal document'],
    ['another subject beside it', ['subject_ref'], 'subj_2', 'seal document'],
  ])('detects %s, even if signed', (_, path, value, step) => {
    expect(failedSteps(packOf(edited(parts(), path, value)))).toContain(step);
  });

  it('that is a draft proves nothing about the ledger, with a note', () => {
    const report = judge(packOf({ ...parts(), seals: [] }));
    expect(report.verified).toBe(true);
    expect(report.conclusion).toContain('Nothing is sealed.');
    expect(report.notes.join(' ')).toContain('draft');
  });

  it.each<[string, Members]>([
    ['without a signature', (({ signature: _, ...rest }) => rest)(packOf(parts()))],
    ['of another canonical form', { ...packOf(parts()), canonicalization: 'other' }],
    ['with an invalid seal', { ...packOf(parts()), seals: [1] }],
  ])('%s is unreadable', (_, pack) => {
    expect(() => readPackFile('pack.json', pack)).toThrow(UnreadableError);
  });

  it('is checked from the command line', async () => {
    const directory = await directoryOf(
      new Map([
        ['pack.json', JSON.stringify(packOf(parts()))],
        ['jwks.json', JSON.stringify(jwks)],
      ]),
    );
    const run = async (line: string) => {
      let out = '';
      const code = await runCli(line.split(' '), { out: (text) => (out += text), err: () => undefined, directory });
      return { code, out };
    };
    const verified = await run(`pack pack.json --jwks jwks.json --key ${logKey.verifierKey}`);
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('VERIFIED. The pack of case_1') });
    expect((await run(`pack pack.json --key ${logKey.verifierKey}`)).code).toBe(1);
  });
});

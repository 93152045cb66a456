import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey, jwksOf } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { noteVerifier } from '@sealgate/merkle';
import { checkEnvelope } from './check-envelope.ts';
import { runCli } from './cli.ts';
import { readTrustFile } from './fabric/trust-file.ts';
import { checkProofsByPeers } from './fabric-checks.ts';
import { trustFile } from './testing/fabric-members.ts';
import { checkpoint, jwks, left, log, proof, provedByPeers, sealed } from './testing/sample-envelope.ts';

type Members = { readonly [member: string]: JsonValue };

const verifier = noteVerifier(log.verifierKey);
const failed = (report: ReturnType<typeof checkEnvelope>) =>
  report.steps.filter(({ status }) => status === 'failed').map(({ step }) => step);

describe('a partner envelope', () => {
  const { envelope, jws } = sealed([{ id: 'rsk_1', title: 'Zürich' }]);
  const input = { name: 'page.json', envelope, signature: { jws, jwks } };

  it('verifies by its signature alone', () => {
    expect(checkEnvelope(input)).toMatchObject({ verified: true, conclusion: expect.stringContaining('org_1') });
  });

  it('does not verify without a signature, even if unchanged', () => {
    const report = checkEnvelope({ ...input, signature: undefined });
    expect(report).toMatchObject({ verified: false, conclusion: expect.stringMatching(/^Unchanged since hashed\./) });
    expect(failed(report)).toEqual(['signed']);
  });

  it.each(['contractVersion', 'generatedAt', 'items', 'orgId', 'pagination', 'verified_no_npi'])(
    'fails if %s was changed, also with a new hash',
    (member) => {
      const changed = { ...envelope, [member]: member === 'contractVersion' ? 'svc.partner.v2' : 'other' };
      expect(failed(checkEnvelope({ ...input, envelope: changed }))).toEqual(['hash', 'signed']);
    },
  );

  it('fails with another key, and without one', () => {
    const other = jwksOf([documentSigner(generateDocumentKey()).jwk]);
    for (const keys of [other, { keys: [] }])
      expect(failed(checkEnvelope({ ...input, signature: { jws, jwks: keys } }))).toEqual(['signed']);
  });

  it('fails if its hash is missing, despite a valid signature', () => {
    const { evidence_hash: _gone, ...rest } = envelope;
    expect(failed(checkEnvelope({ ...input, envelope: rest }))).toEqual(['hash']);
  });
});

describe('proofs in an envelope', () => {
  const check = (changed: Readonly<Record<string, JsonValue>>) => {
    const { envelope, jws } = sealed([{ ...proof, ...changed }]);
    return checkEnvelope({ name: 'proofs.json', envelope, signature: { jws, jwks }, verifier });
  };

  it('are verified against the log', () => {
    expect(check({})).toMatchObject({ verified: true, conclusion: expect.stringContaining('1 proof(s)') });
  });

  it('are skipped with a note without the key of the log', () => {
    const { envelope, jws } = sealed([proof]);
    const report = checkEnvelope({ name: 'proofs.json', envelope, signature: { jws, jwks } });
    expect(report.notes.join()).toContain('not checked');
  });

  it.each<[string, Readonly<Record<string, JsonValue>>, string[]]>([
    ['the leaf', { leafHash: left.toString('hex') }, ['inclusion']],
    ['the index', { index: 0 }, ['inclusion']],
    ['the path', { inclusionPath: [] }, ['inclusion']],
    ['a hash that is none', { inclusionPath: ['zz'] }, ['inclusion']],
    ['the size', { treeSize: 3 }, ['tree size']],
    ['the channel', { channel: 'risk.other' }, ['origin']],
    ['the checkpoint', { checkpoint: checkpoint.replace('\n2\n', '\n3\n') }, ['signature', 'tree size', 'inclusion']],
    ['the checkpoint for nonsense', { checkpoint: 'x' }, ['signature', 'checkpoint']],
  ])('fail with a replaced %s', (_what, changed, steps) => expect(failed(check(changed))).toEqual(steps));
});

describe('proofs of Fabric in an envelope', () => {
  const check = async (item: Members, isTrusted = true) => {
    const { envelope, jws } = sealed([item]);
    const trust = await readTrustFile('trust.json', JSON.parse(JSON.stringify(trustFile())));
    const byPeers = isTrusted ? await checkProofsByPeers({ name: 'proofs.json', envelope }, trust) : undefined;
    return checkEnvelope({ name: 'proofs.json', envelope, signature: { jws, jwks }, verifier, byPeers });
  };

  it('are verified by what peers signed', async () => {
    const report = await check(provedByPeers());
    expect(failed(report)).toEqual([]);
    expect(report.conclusion).toContain('Peers signed for its 1 proof(s) of Fabric.');
  });

  it('are skipped with a note without the trust file', async () => {
    const report = await check(provedByPeers(), false);
    expect(report.verified).toBe(true);
    expect(report.notes.join()).toContain('were not checked: give the trust file of the channel with --trust');
  });

  it.each<[string, Members, string[]]>([
    ['the fingerprint', { sha256: 'cd'.repeat(32) }, ['content']],
    ['the evidence', { subjectId: 'evd_2' }, ['content']],
    ['the record', { ledgerRecordId: 'rec_2' }, ['item']],
    ['the channel', { channel: 'acme.other' }, ['item']],
    ['the time', { sealedAt: '2026-01-01T00:00:00.000Z' }, ['item']],
  ])('fail with a replaced %s', async (_what, changed, steps) => {
    expect(failed(await check({ ...provedByPeers(), ...changed }))).toEqual(steps);
  });
});

describe('on the command line', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-verify-'));
    const { text, jws } = sealed([proof]);
    writeFileSync(join(folder, 'page.json'), text);
    writeFileSync(join(folder, 'page.headers'), `HTTP/1.1 200 OK\r\nETag: "x"\r\nevidence-signature: ${jws}\r\n\r\n`);
    writeFileSync(join(folder, 'page.jws'), `${jws}\n`);
    writeFileSync(join(folder, 'keys.json'), JSON.stringify(jwks));
    writeFileSync(join(folder, 'other.json'), '{"items":[]}');
    const byPeers = sealed([provedByPeers()]);
    writeFileSync(join(folder, 'peers.json'), byPeers.text);
    writeFileSync(join(folder, 'peers.jws'), byPeers.jws);
    writeFileSync(join(folder, 'trust.json'), JSON.stringify(trustFile()));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = async (...args: string[]) => {
    let said = '';
    const say = (text: string) => void (said += text);
    const code = await runCli(args, { out: say, err: say, directory: folder });
    return { code, said };
  };

  it.each(['page.headers', 'page.jws'])('accepts the signature from %s', async (file) => {
    const { code } = await run(
      'envelope',
      'page.json',
      '--signature',
      file,
      '--jwks',
      'keys.json',
      '--key',
      log.verifierKey,
    );
    expect(code).toBe(0);
    expect((await run('signed', 'page.json', '--signature', file, '--jwks', 'keys.json')).code).toBe(0);
  });

  it('is not verified without a signature, and distinguishes wrong use from an invalid envelope', async () => {
    expect((await run('envelope', 'page.json')).code).toBe(1);
    expect((await run('envelope', 'page.json', '--jwks', 'keys.json')).code).toBe(2);
    expect((await run('envelope', 'other.json')).code).toBe(2);
    expect((await run('envelope', 'missing.json')).code).toBe(2);
  });

  it('checks proofs of Fabric with the trust file', async () => {
    const signed = ['envelope', 'peers.json', '--signature', 'peers.jws', '--jwks', 'keys.json'];
    const { code, said } = await run(...signed, '--trust', 'trust.json');
    expect(said).toContain('Peers signed for its 1 proof(s) of Fabric.');
    expect(code).toBe(0);
    expect((await run(...signed, '--trust', 'keys.json')).code).toBe(2);
  });
});

import { describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey, jwksOf, sealEligibility } from '@sealgate/envelope';
import { canonical } from '@sealgate/json';
import { checkEligibility } from './check-eligibility.ts';
import { runCli } from './cli.ts';
import { directoryOf } from './testing/sample-log.ts';

const signer = documentSigner(generateDocumentKey());
const jwks = jwksOf([signer.jwk]);
const members = {
  subject_ref: 'subj_a',
  status: 'eligible',
  record_version: 2,
  as_of: '2030-01-02T03:04:05.678Z',
  venue_ids: ['hall'],
};
const record = sealEligibility(members, (bytes) => signer.sign(bytes));

const stepsOf = (document: object, keys: typeof jwks | undefined = jwks) => {
  const report = checkEligibility({ name: 'r', document: document as never, jwks: keys });
  return {
    verified: report.verified,
    failed: report.steps.filter(({ status }) => status === 'failed').map(({ step }) => step),
  };
};

describe('an eligibility record', () => {
  it('is signed over its canonical form', () => {
    expect(record.signature).toBe(signer.sign(Buffer.from(canonical(members))));
    expect(stepsOf(record)).toEqual({ verified: true, failed: [] });
    // Members may be in any order.
    expect(stepsOf(Object.fromEntries(Object.entries(record).toReversed()))).toEqual({ verified: true, failed: [] });
  });

  it('fails if changed, rehashed, unsigned, signed by another key, or without a pinned key', () => {
    expect(stepsOf({ ...record, status: 'revoked' })).toEqual({ verified: false, failed: ['hash', 'signed'] });
    const forged = sealEligibility({ ...members, venue_ids: ['*'] }, () => record.signature);
    expect(stepsOf(forged)).toEqual({ verified: false, failed: ['signed'] });
    const { signature: _, ...unsigned } = record;
    expect(stepsOf(unsigned)).toEqual({ verified: false, failed: ['signed'] });
    const stranger = documentSigner(generateDocumentKey());
    const theirs = sealEligibility(members, (bytes) => stranger.sign(bytes));
    expect(stepsOf(theirs)).toEqual({ verified: false, failed: ['signed'] });
    expect(checkEligibility({ name: 'r', document: record }).verified).toBe(false);
    expect(stepsOf({ ...record, evidence_hash: 7 }).verified).toBe(false);
  });

  it('is checked by a command', async () => {
    const files = { 'record.json': record, 'jwks.json': jwks, 'pack.json': { pack_hash: 'x' } };
    const directory = await directoryOf(
      new Map(Object.entries(files).map(([name, value]) => [name, JSON.stringify(value)])),
    );
    let text = '';
    const take = (part: string) => void (text += part);
    const run = (...args: string[]) => runCli(['eligibility', ...args], { out: take, err: take, directory });
    expect(await run('record.json', '--jwks', 'jwks.json')).toBe(0);
    expect(text).toContain('said of subj_a at 2030-01-02T03:04:05.678Z: eligible (version 2)');
    expect(await run('record.json')).toBe(1);
    expect(await run('pack.json')).toBe(2);
  });
});

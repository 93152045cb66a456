import { generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import { certificateAuthority } from '@sealgate/testing/fabric';
import { IdentityFiles } from './identity-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-identity-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
const authority = certificateAuthority('Test');
const issueIdentity = () => authority.issue('client');
const message = Buffer.from('message');

function write({ cert, key }: { cert: string; key: string }): void {
  for (const [file, text] of [
    [certFile, cert],
    [keyFile, key],
  ] as const) {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  }
}

let clock: ReturnType<typeof testClock>;
let problems: string[];
const open = () =>
  new IdentityFiles({
    mspId: 'M',
    certFile,
    keyFile,
    now: clock.now,
    onProblem: (detail) => void problems.push(detail),
  });

beforeEach(() => {
  clock = testClock();
  problems = [];
  write(issueIdentity());
});

describe('the identity on disk', () => {
  it('signs with the key of its certificate', () => {
    const identity = open().current()!;
    const { publicKey } = new X509Certificate(identity.certificate);
    expect(verify('sha256', message, publicKey, identity.sign(message))).toBe(true);
    expect(identity.mspId).toBe('M');
  });

  it('is taken over when it was replaced, and the old one stays good for whoever holds it', () => {
    const files = open();
    const old = files.current()!;
    write(issueIdentity());
    expect(files.current()).toBe(old);
    clock.advance(1000);
    const fresh = files.current()!;
    expect(fresh.certificate).toEqual(readFileSync(certFile));
    expect(fresh.certificate).not.toEqual(old.certificate);
    const { publicKey } = new X509Certificate(old.certificate);
    expect(verify('sha256', message, publicKey, old.sign(message))).toBe(true);
  });

  it('stays while the files do not go together, says so once, and is taken over when they do', () => {
    const files = open();
    const old = files.current()!;
    const { cert, key } = issueIdentity();
    writeFileSync(certFile, cert);
    for (let n = 0; n < 3; n += 1) {
      clock.advance(1000);
      expect(files.current()).toBe(old);
    }
    expect(problems).toEqual(['the private key does not belong to the certificate']);
    writeFileSync(keyFile, key);
    clock.advance(1000);
    expect(files.current()!.certificate.toString()).toBe(cert);
  });

  it('may come later', () => {
    rmSync(keyFile);
    const files = open();
    expect(files.current()).toBeUndefined();
    write(issueIdentity());
    clock.advance(1000);
    expect(files.current()).toBeDefined();
  });

  it('is well while it is there, readable, matching and unexpired', () => {
    expect(open().state()).toEqual({
      ok: true,
      problems: [],
      certificateExpiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it.each<[string, () => void, string]>([
    ['no certificate', () => rmSync(certFile), 'the certificate cannot be read'],
    ['no key', () => rmSync(keyFile), 'the private key cannot be read'],
    ['another text for a certificate', () => writeFileSync(certFile, 'x'), 'the certificate is not X.509'],
    ['another text for a key', () => writeFileSync(keyFile, 'x'), 'the private key is not a PEM key'],
    [
      'the key of another',
      () => writeFileSync(keyFile, issueIdentity().key),
      'the private key does not belong to the certificate',
    ],
    [
      'a key of another curve',
      () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
        writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
      },
      'the private key is not of the curve P-256',
    ],
    [
      'an encrypted key',
      () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        const sealed = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const;
        writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', ...sealed }));
      },
      'the private key is encrypted: it is read without a passphrase',
    ],
    [
      "a key that OpenSSL's older tools encrypted",
      () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        const sealed = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const;
        writeFileSync(keyFile, privateKey.export({ type: 'sec1', ...sealed }));
      },
      'the private key is encrypted: it is read without a passphrase',
    ],
    ['an expired certificate', () => clock.advance(40 * 365 * 86_400_000), 'the certificate has expired'],
    ['a certificate of the future', () => clock.advance(-40 * 365 * 86_400_000), 'the certificate is not valid yet'],
  ])('is not well with %s', (_, spoil, problem) => {
    spoil();
    expect(open().state()).toMatchObject({ ok: false, problems: [problem] });
  });

  it('names no file and no cause', () => {
    rmSync(certFile);
    writeFileSync(keyFile, 'x');
    expect(JSON.stringify(open().state())).not.toContain(folder);
  });
});

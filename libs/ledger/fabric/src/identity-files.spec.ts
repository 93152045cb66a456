import { createPrivateKey, generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testClock } from '@sealgate/testing';
import { certificateAuthority } from '@sealgate/testing/fabric';
import { IdentityFiles, type IdentitySource } from './identity-files.ts';

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
const open = (source: IdentitySource = { name: 'app', mspId: 'M', certFile, keyFile }) =>
  new IdentityFiles({
    source,
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

  it('is reloaded when replaced, and the old one stays usable for its holders', () => {
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

  it('stays while the files do not match, reports it once, and is reloaded when they do', () => {
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

  it('may appear later, and is reported every minute until then', () => {
    rmSync(keyFile);
    const files = open();
    expect(files.current()).toBeUndefined();
    const problem = 'the private key cannot be read';
    for (const [ms, times] of [
      [59_000, 1],
      [1000, 2],
      [1000, 2],
    ] as const) {
      clock.advance(ms);
      expect(files.current()).toBeUndefined();
      expect(problems).toEqual(Array.from({ length: times }, () => problem));
    }
    write(issueIdentity());
    clock.advance(1000);
    expect(files.current()).toBeDefined();
  });

  it('is healthy while present, readable, matching and unexpired', () => {
    expect(open().state()).toEqual({
      ok: true,
      problems: [],
      certificateExpiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it.each<[string, () => void, string]>([
    ['no certificate', () => rmSync(certFile), 'the certificate cannot be read'],
    ['no key', () => rmSync(keyFile), 'the private key cannot be read'],
    ['a certificate file with other text', () => writeFileSync(certFile, 'x'), 'the certificate is not X.509'],
    ['a key file with other text', () => writeFileSync(keyFile, 'x'), 'the private key is not a PEM key'],
    [
      'the key of another',
      () => writeFileSync(keyFile, issueIdentity().key),
      'the private key does not belong to the certificate',
    ],
    [
      'a key of another curve',
      () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' });
        writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
      },
      'the private key is of neither P-256 nor P-384',
    ],
    [
      'an encrypted key',
      () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        const sealed = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const;
        writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', ...sealed }));
      },
      'the private key is encrypted, and there is no keyPassphraseFile',
    ],
    [
      "a key that OpenSSL's older tools encrypted",
      () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        const sealed = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const;
        writeFileSync(keyFile, privateKey.export({ type: 'sec1', ...sealed }));
      },
      'the private key is encrypted, and there is no keyPassphraseFile',
    ],
    ['an expired certificate', () => clock.advance(40 * 365 * 86_400_000), 'the certificate has expired'],
    ['a certificate not valid yet', () => clock.advance(-40 * 365 * 86_400_000), 'the certificate is not valid yet'],
  ])('is unhealthy with %s', (_, spoil, problem) => {
    spoil();
    expect(open().state()).toMatchObject({ ok: false, problems: [problem] });
  });

  it('reveals no file and no cause', () => {
    rmSync(certFile);
    writeFileSync(keyFile, 'x');
    expect(JSON.stringify(open().state())).not.toContain(folder);
  });

  it.each(['pkcs8', 'sec1'] as const)('signs with an encrypted key (%s), once its passphrase is there', (type) => {
    const passphraseFile = join(folder, 'passphrase');
    rmSync(passphraseFile, { force: true });
    const plain = createPrivateKey(readFileSync(keyFile));
    const sealed = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'of two words ' } as const;
    writeFileSync(keyFile, plain.export({ type, ...sealed }));
    const files = open({ name: 'app', mspId: 'M', certFile, keyFile, keyPassphraseFile: passphraseFile });
    expect(files.current()).toBeUndefined();
    expect(files.state().problems).toEqual(['the passphrase of the key cannot be read']);
    writeFileSync(passphraseFile, 'another\n');
    expect(files.state().problems).toEqual(['the private key cannot be opened with its passphrase']);
    writeFileSync(passphraseFile, 'of two words \n');
    clock.advance(1000);
    const identity = files.current()!;
    const { publicKey } = new X509Certificate(identity.certificate);
    expect(verify('sha256', message, publicKey, identity.sign(message))).toBe(true);
  });
});

describe('the folder of an MSP', () => {
  const mspFolder = join(folder, 'msp');
  const source = { name: 'app', mspId: 'M', mspFolder };
  const put = (name: string, text: string) => writeFileSync(join(mspFolder, name), text);

  beforeEach(() => {
    rmSync(mspFolder, { recursive: true, force: true });
    for (const name of ['signcerts', 'keystore']) mkdirSync(join(mspFolder, name), { recursive: true });
  });

  it('signs with the key of its certificate, among those of earlier ones', () => {
    const { cert, key } = issueIdentity();
    put('signcerts/cert.pem', cert);
    put('keystore/1_sk', issueIdentity().key);
    put('keystore/2_sk', key);
    put('keystore/3_sk', 'not a key');
    const identity = open(source).current()!;
    const { publicKey } = new X509Certificate(identity.certificate);
    expect(verify('sha256', message, publicKey, identity.sign(message))).toBe(true);
    expect(open(source).state().problems).toEqual([]);
  });

  it('is reloaded when a key is added and the certificate replaced', () => {
    const before = issueIdentity();
    put('signcerts/cert.pem', before.cert);
    put('keystore/1_sk', before.key);
    const files = open(source);
    expect(files.current()!.certificate.toString()).toBe(before.cert);
    const after = issueIdentity();
    put('keystore/2_sk', after.key);
    put('signcerts/cert.pem', after.cert);
    clock.advance(1000);
    expect(files.current()!.certificate.toString()).toBe(after.cert);
  });

  it.each<[string, () => void, string]>([
    ['no certificate', () => put('keystore/1_sk', issueIdentity().key), 'the certificate cannot be read'],
    ['no key', () => put('signcerts/cert.pem', issueIdentity().cert), 'the private key cannot be read'],
    [
      'keys of others only',
      () => {
        put('signcerts/cert.pem', issueIdentity().cert);
        put('keystore/1_sk', issueIdentity().key);
        put('keystore/2_sk', issueIdentity().key);
      },
      'the private key does not belong to the certificate',
    ],
    [
      'what is no key',
      () => {
        put('signcerts/cert.pem', issueIdentity().cert);
        put('keystore/1_sk', 'x');
        put('keystore/2_sk', 'y');
      },
      'the private key is not a PEM key',
    ],
  ])('is unhealthy with %s', (_, fill, problem) => {
    fill();
    expect(open(source).current()).toBeUndefined();
    expect(open(source).state()).toMatchObject({ ok: false, problems: [problem] });
  });
});

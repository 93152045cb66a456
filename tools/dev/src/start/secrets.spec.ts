import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dataFolder, type DataFolder } from './data-folder.ts';
import { openSecrets, tokenHash } from './secrets.ts';

describe('the secrets of an installation', () => {
  let data: DataFolder;
  beforeEach(() => {
    data = dataFolder(mkdtempSync(join(tmpdir(), 'sealgate-secrets-')));
  });
  afterEach(() => rmSync(data.path, { recursive: true, force: true }));

  it('are created once, stored, and readable only by the owner', () => {
    const first = openSecrets(data);
    const secret = first.secret('ingest-gateway.serverSecret');
    first.remember('demo.ingestKey', 'x');
    const second = openSecrets(data);
    expect(second.adminToken).toBe(first.adminToken);
    expect(second.ledger).toEqual(first.ledger);
    expect(second.secret('ingest-gateway.serverSecret')).toBe(secret);
    expect(second.recall('demo.ingestKey')).toBe('x');
    expect(second.recall('demo.other')).toBeUndefined();
    expect(statSync(data.secretsFile).mode & 0o777).toBe(0o600);
  });

  it('write the verifier key of the log world-readable', () => {
    const { ledger } = openSecrets(data);
    expect(readFileSync(data.verifierKeyFile, 'utf8')).toBe(`${ledger.verifierKey}\n`);
    expect(statSync(data.verifierKeyFile).mode & 0o777).toBe(0o644);
  });

  it('are long, and differ', () => {
    const secrets = openSecrets(data);
    const made = [secrets.adminToken, secrets.secret('a'), secrets.secret('b')];
    expect(new Set(made).size).toBe(3);
    for (const secret of made) expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(secrets.ledger.verifierKey).toMatch(/^localhost\/sealgate\+[0-9a-f]{8}\+/);
  });

  it.each(['{', '[]', '{"adminToken": 7}'])('are not recreated over an invalid file: %s', (text) => {
    writeFileSync(data.secretsFile, text);
    expect(() => openSecrets(data)).toThrow(
      `${data.secretsFile} is broken. Restore it, or start with --fresh, which removes all data.`,
    );
    expect(readFileSync(data.secretsFile, 'utf8')).toBe(text);
  });

  it('hashes the token as the listeners are configured with it', () => {
    // SHA-256 of "abc", FIPS 180-2 appendix B.1.
    expect(tokenHash('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import {
  checkConfigTable,
  configTable,
  ledgerFaults,
  ledgerFields,
  listenerFaults,
  listenerFields,
  loadConfig,
  publicUrlFields,
  storeFields,
} from './index.ts';

const SECRETS = `a:${'s'.repeat(32)}`;
const stores = { DATABASE_URL: 'postgresql://u@h/d', SERVER_SECRETS: SECRETS };
const hash = 'ab'.repeat(32);
const pemFolder = mkdtempSync(join(tmpdir(), 'sealgate-fields-'));
const pem = join(pemFolder, 'tls.pem');
writeFileSync(pem, '-----BEGIN CERTIFICATE-----\n');
afterAll(() => rmSync(pemFolder, { recursive: true }));

describe('the common fields', () => {
  it('default to a service on loopback', () => {
    const config = loadConfig(listenerFields, {});
    expect(config).toMatchObject({
      host: '127.0.0.1',
      opsHost: '127.0.0.1',
      adminHost: '127.0.0.1',
      adminPort: undefined,
    });
    expect(config.adminTokenHashes.size).toBe(0);
    expect(config).toMatchObject({ tlsTerminatedUpstream: false, trustProxy: false, logLevel: 'info' });
  });

  it('have no default for secrets', () => {
    expect(() => loadConfig(storeFields, {})).toThrow(/DATABASE_URL: is required\n- SERVER_SECRETS: is required/);
    expect(loadConfig(storeFields, stores)).toMatchObject({
      redisUrl: undefined,
      replicas: 1,
      databasePreparedStatements: undefined,
      databasePoolSize: 12,
    });
  });

  it('never print a malformed secret', () => {
    const env = { DATABASE_URL: 'hunter2', REDIS_URL: 'hunter2', SERVER_SECRETS: 'hunter2' };
    const attempt = () => loadConfig({ ...listenerFields, ...storeFields }, { ...env, ADMIN_TOKEN_HASHES: 'hunter2' });
    expect(attempt).toThrow(/DATABASE_URL.*\n.*REDIS_URL.*\n.*SERVER_SECRETS/);
    expect(attempt).not.toThrow(/hunter2/);
  });

  it.each([
    'postgresql://u:p@h1:5432,h2:5433/d?target_session_attrs=read-write',
    'postgres://u:p%40x@h1,h2,[::1]:5433/d?target_session_attrs=primary&sslmode=require',
    'postgresql:///d?host=/run/postgresql',
  ])('accept the database URL %s', (url) => {
    expect(loadConfig(storeFields, { ...stores, DATABASE_URL: url }).databaseUrl).toBe(url);
  });

  it.each([
    ['mysql://u@h/d', 'must be a URL that begins with'],
    ['postgresql://u@h1:5432,h2:port/d', 'must name each server as'],
    ['postgresql://u@h1:5432,/d', 'must name each server as'],
    ['postgresql://u@h1/d?target_session_attrs=any', 'target_session_attrs must be read-write or primary'],
    [
      'postgresql://u@h1,h2/d?target_session_attrs=prefer-standby',
      'target_session_attrs must be read-write or primary',
    ],
    ['postgresql:///d?host=h1,h2', 'must name several servers before the database'],
    ['file:///nowhere/hunter2', 'must name a file that can be read'],
    ['file://host/path', 'must name a file as file:///path'],
    [import.meta.url, 'must be a URL that begins with'],
  ])('report what is wrong with the database URL %s', (url, said) => {
    const attempt = () => loadConfig(storeFields, { ...stores, DATABASE_URL: url });
    expect(attempt).toThrow(`DATABASE_URL: ${said}`);
  });

  it.each([
    'redis://:p@h:6379/1',
    'rediss://h',
    'redis+sentinel://u:p@h1:26379,h2:26379/mymaster',
    'rediss+sentinel://h1:26379/mymaster/2',
    'redis-cluster://:p@h1:6379,h2:6379',
    'rediss-cluster://h1:6379/0',
    'redis+sentinel://h1/main?sentinelUsername=u&sentinelPassword=p%2F',
    `rediss://u:p%25@h?caFile=${pem}&certFile=${pem}&keyFile=${pem}`,
  ])('accept the Redis URL %s', (url) => {
    expect(loadConfig(storeFields, { ...stores, REDIS_URL: url }).redisUrl).toBe(url);
  });

  it.each([
    'http://h',
    'redis://h1,h2',
    'redis+sentinel://h1:26379',
    'redis+sentinel://h1:26379/name/db',
    'redis-cluster://h1:6379/1',
    'redis-cluster://h1:x',
    'redis://u:100%@h',
    'redis://h?commandTimeout=60000',
    'redis://h?sentinelPassword=p',
    'redis+sentinel://h1/main?sentinelPasword=p',
    'redis+sentinel://h1/main?sentinelPassword=p&sentinelPassword=q',
    `redis://h?caFile=${pem}`,
    `rediss://h?certFile=${pem}`,
    `rediss://h?caFile=${pem}.none`,
    `rediss://h?caFile=${join(import.meta.dirname, 'index.ts')}`,
  ])('refuse the Redis URL %s', (url) => {
    expect(() => loadConfig(storeFields, { ...stores, REDIS_URL: url })).toThrow(/REDIS_URL: (must|may|needs)/);
  });

  describe('of identity providers', () => {
    const entry = { issuer: 'https://login.example.com', audience: { api: ['a'], admin: ['b'], mcp: ['c', 'd'] } };
    const issuersOf = (...list: unknown[]) => ({ OIDC_ISSUERS: JSON.stringify(list) });
    const read = (more: Record<string, string>) => loadConfig(listenerFields, more);

    it('have audiences for each listener, scopes, an identity claim and a URL of keys', () => {
      const whole = { ...entry, scopes: { mcp: ['api://x/use'] }, identityClaim: 'oid', jwksUri: 'https://k.example/' };
      expect(read(issuersOf(whole)).oidcIssuers).toEqual([whole]);
      expect(read(issuersOf({ ...entry, audience: {} })).oidcIssuers[0]?.audience).toEqual({});
    });

    it.each(['https://api.example.com', ['https://api.example.com'], null, 1])(
      'refuse %j as audience with the new form',
      (audience) => {
        expect(() => read(issuersOf({ ...entry, audience }))).toThrow(
          'OIDC_ISSUERS: audience must be an object with a list for each listener: {"api": [...], "admin": [...], "mcp": [...]}',
        );
      },
    );

    it.each<[string, object]>([
      ['audience must be', { audience: { apis: ['a'] } }],
      ['audience must be', { audience: { api: 'a' } }],
      ['audience must be', { audience: { api: [''] } }],
      ['audience must be', { audience: { api: Array(21).fill('a') } }],
      ['scopes must be', { scopes: ['a'] }],
      ['scopes must be', { scopes: { api: ['a'] } }],
      ['scopes must be', { scopes: { mcp: ['a b'] } }],
      ['identityClaim must be', { identityClaim: '' }],
      ['jwksUri must be', { jwksUri: 'http://k.example/' }],
      ['issuer must be', { issuer: 'http://login.example.com' }],
      ['no members but', { audiences: {} }],
    ])('refuse an entry: %s', (said, more) => {
      expect(() => read(issuersOf({ ...entry, ...more }))).toThrow(
        `OIDC_ISSUERS: ${said.startsWith('no') ? 'each entry must have ' : ''}${said}`,
      );
    });

    it('must have an audience for admin where ADMIN_OIDC names them', () => {
      const rule = { claim: 'groups', value: 'operators', role: 'operator' };
      const rules = (...list: object[]) => ({ ADMIN_OIDC: JSON.stringify(list) });
      const faultsOf = (more: Record<string, string>) => listenerFaults(read(more));
      expect(faultsOf({ ...issuersOf(entry), ...rules(rule) })).toEqual([]);
      const without = issuersOf({ ...entry, audience: { api: ['a'] } });
      const fault = ['ADMIN_OIDC: must name issuers of OIDC_ISSUERS that have an audience for admin'];
      expect(faultsOf({ ...without, ...rules(rule) })).toEqual(fault);
      expect(faultsOf({ ...issuersOf(entry), ...rules({ ...rule, issuer: 'https://other.example' }) })).toEqual(fault);
    });
  });

  it('read hashes of tokens', () => {
    const { adminTokenHashes } = loadConfig(listenerFields, {
      ADMIN_TOKEN_HASHES: `${hash}, ${hash.replace('ab', 'cd')}`,
    });
    expect(adminTokenHashes.size).toBe(2);
  });

  it('read hashes of tokens from a file, and re-read it at run time', () => {
    const folder = mkdtempSync(join(tmpdir(), 'config-hashes-'));
    const file = join(folder, 'hashes');
    const load = () => loadConfig(listenerFields, { ADMIN_TOKEN_HASHES: `file://${file}` });
    expect(load).toThrow('ADMIN_TOKEN_HASHES: must name a file that can be read');
    writeFileSync(file, '\n');
    expect(load).toThrow('ADMIN_TOKEN_HASHES: must name a file that is not empty');
    writeFileSync(file, `${hash}\n`);
    const { adminTokenHashes } = load();
    expect(adminTokenHashes.ids).toEqual(['abababab']);
    rmSync(folder, { recursive: true });
  });

  it.each<[string, unknown]>([
    ['false', false],
    ['1', 1],
    ['loopback', ['loopback']],
    ['10.0.0.0/8, fd00::/8,192.0.2.1', ['10.0.0.0/8', 'fd00::/8', '192.0.2.1']],
  ])('trust the proxies of TRUST_PROXY=%s', (text, trusted) => {
    expect(loadConfig(listenerFields, { TRUST_PROXY: text }).trustProxy).toEqual(trusted);
  });

  it.each(['true', 'all', '10.0.0.0/33', '::/129', '10.0.0', '10.0.0.0/8/8', '10.0.0.1,', '-1'])(
    'refuse TRUST_PROXY=%s',
    (text) => {
      expect(() => loadConfig(listenerFields, { TRUST_PROXY: text })).toThrow(/TRUST_PROXY: must be false/);
    },
  );

  it.each(['', 'has space', 'has+plus', 'ends/', 'x'.repeat(201)])('refuse the ledger origin "%s"', (text) => {
    expect(() => loadConfig(ledgerFields, { LEDGER_ORIGIN: text })).toThrow(/LEDGER_ORIGIN/);
  });

  it.each([
    'https://api.example.com',
    'https://api.example.com:8443/sealgate',
    'http://127.0.0.1:4103',
    'http://[::1]:4103',
    'http://localhost:4103',
  ])('accept the public URL %s unchanged', (text) => {
    expect(loadConfig(publicUrlFields, { PUBLIC_URL: text }).publicUrl).toBe(text);
  });

  it('have no public URL by default', () => {
    expect(loadConfig(publicUrlFields, {}).publicUrl).toBeUndefined();
  });

  it.each([
    'api.example.com',
    'https:api.example.com',
    'http://api.example.com',
    'http://127.0.0.1.example.com',
    'https://api.example.com/',
    'https://api.example.com/a/',
    'https://api.example.com?a=1',
    'https://api.example.com#a',
    'https://api.example.com/{tenant}',
    'https://user:hunter2@api.example.com',
    'https://api.example.com/a b',
    'ftp://api.example.com',
  ])('refuse the public URL %s without quoting it', (text) => {
    expect(() => loadConfig(publicUrlFields, { PUBLIC_URL: text })).toThrow(/PUBLIC_URL: must (?!.*hunter2)/);
  });

  it('require both TLS files', () => {
    const load = (env: Record<string, string>) => loadConfig(listenerFields, env, { check: listenerFaults });
    expect(() => load({ TLS_CERT_FILE: 'c' })).toThrow('TLS_CERT_FILE, TLS_KEY_FILE: must be set together');
    expect(load({ TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k' }).tlsKeyFile).toBe('k');
  });

  it('require a key and a folder for the integrator only', () => {
    const load = (env: Record<string, string>) =>
      loadConfig(
        ledgerFields,
        { LEDGER_ORIGIN: 'ledger.example', LEDGER_INTEGRATOR: 'true', ...env },
        { check: ledgerFaults },
      );
    expect(() => load({})).toThrow(
      'LEDGER_SIGNING_KEY: is required if LEDGER_INTEGRATOR is true\n' +
        '- CHECKPOINT_DIR: is required if LEDGER_INTEGRATOR is true',
    );
    expect(() => load({ LEDGER_SIGNING_KEY: 'hunter2' })).toThrow('LEDGER_SIGNING_KEY: must begin with PRIVATE+KEY+');
    expect(() => load({ LEDGER_DRIVER: 'fabric' })).toThrow(
      'LEDGER_INTEGRATOR: only the embedded ledger has an integrator',
    );
    const key = { LEDGER_SIGNING_KEY: 'PRIVATE+KEY+n+h+k' };
    expect(() => load(key)).toThrow(/:\n- CHECKPOINT_DIR: is required if LEDGER_INTEGRATOR is true$/);
    expect(load({ ...key, CHECKPOINT_DIR: '/kept' }).ledgerDriver).toBe('embedded');
    expect(load({ LEDGER_INTEGRATOR: 'false' }).checkpointDir).toBeUndefined();
  });
});

describe('the table of a README', () => {
  const fields = { ...listenerFields, ...storeFields };
  const folder = mkdtempSync(join(tmpdir(), 'config-table-'));
  const path = join(folder, 'README.md');

  it('has a row for each variable, and no secret', () => {
    const rows = configTable(fields).split('\n');
    expect(rows).toHaveLength(2 + Object.keys(fields).length);
    expect(rows).toContain('| `PORT` | Port of the public listener. | a whole number from 0 to 65535 | `8080` |');
    expect(rows.find((row) => row.includes('`SERVER_SECRETS`'))).toMatch(/; secret \| required \|$/);
    expect(rows.find((row) => row.includes('`REDIS_URL`'))).toMatch(/; secret \| none \|$/);
  });

  it('is compared ignoring column widths', () => {
    writeFileSync(path, '# X\n\n<!-- config:begin -->\n<!-- config:end -->\n\nMore.\n');
    expect(() => checkConfigTable(path, fields, { write: false })).toThrow(/stale.*no row/);
    checkConfigTable(path, fields, { write: true });
    writeFileSync(
      path,
      readFileSync(path, 'utf8')
        .replaceAll('| `', '|    `')
        .replace('| - |', '| ------ |')
        .replaceAll('|    `', '|  `'),
    );
    expect(() => checkConfigTable(path, fields, { write: false })).not.toThrow();
    expect(readFileSync(path, 'utf8')).toMatch(/^# X\n[^]*More\.\n$/);
    writeFileSync(path, readFileSync(path, 'utf8').replace('8080', '8088'));
    expect(() => checkConfigTable(path, fields, { write: false })).toThrow(/stale.*8088.*8080/);
  });

  it('needs its markers', () => {
    writeFileSync(path, '# X\n');
    expect(() => checkConfigTable(path, fields, { write: false })).toThrow(/no place for the table/);
    rmSync(folder, { recursive: true });
  });
});

import { chownSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { executeSql, throwawayPostgres, throwawayRedis } from '@sealgate/testing';
import { freePortBase } from '../start/free-port-base.fixture.ts';
import { lend } from './container.fixture.ts';

/**
 * Backing services of a test: a provider, and PostgreSQL and Redis with TLS, using `served.crt` and `served.key` of a
 * folder.
 */
export interface EncryptedStores {
  /** A role without rights until a migration grants them. */
  readonly databaseUrl: string;
  readonly migrationUrl: string;
  readonly redisUrl: string;
  /** The OpenID Connect endpoints that the console reads before it is ready. */
  readonly issuer: string;
  stop(): Promise<void>;
}

export async function encryptedStores(folder: string): Promise<EncryptedStores> {
  const [certificate, key] = [join(folder, 'served.crt'), join(folder, 'served.key')];
  const postgres = await throwawayPostgres({ own: true });
  // A server's key must belong to the user that it runs as.
  const server = lstatSync(`/proc/${postgres.pid}`).uid;
  const ofServer = mkdtempSync(join(tmpdir(), 'sealgate-postgres-tls-'));
  chownSync(ofServer, server, server);
  lend(certificate, join(ofServer, 'served.crt'), server);
  lend(key, join(ofServer, 'served.key'), server);
  const settings = { ssl_cert_file: `${ofServer}/served.crt`, ssl_key_file: `${ofServer}/served.key`, ssl: 'on' };
  for (const [name, value] of Object.entries(settings))
    await executeSql(postgres.url, `ALTER SYSTEM SET ${name} = '${value}'`);
  await executeSql(postgres.url, 'SELECT pg_reload_conf()');
  await executeSql(postgres.url, `CREATE ROLE app LOGIN PASSWORD 'secret'`);

  const port = (await freePortBase()) + 1;
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key];
  const redis = await throwawayRedis([...files, '--tls-port', String(port), '--tls-auth-clients', 'no']);
  const provider = await discoveryProvider();
  const encrypted = (changes: object) =>
    Object.assign(new URL(postgres.url), { search: '?sslmode=verify-full', ...changes }).href;
  return {
    databaseUrl: encrypted({ username: 'app', password: 'secret' }),
    migrationUrl: encrypted({}),
    redisUrl: redis.url.replace('redis:', 'rediss:').replace(`:${redis.port}`, `:${port}`),
    issuer: issuerOf(provider),
    async stop() {
      provider.close();
      await redis.stop();
      await postgres.stop();
      rmSync(ofServer, { recursive: true });
    },
  };
}

const issuerOf = (provider: Server): string => `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;

async function discoveryProvider(): Promise<Server> {
  const provider = createServer((_request, response) => {
    const issuer = issuerOf(provider);
    const endpoints = ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'end_session_endpoint'];
    const document = {
      issuer,
      ...Object.fromEntries(endpoints.map((name) => [name, `${issuer}/${name}`])),
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    };
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(document));
  });
  await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
  return provider;
}

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { documentSigner, generateDocumentKey } from '@sealgate/envelope';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { preparedPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { envelopeSigners } from '../envelope-signers.ts';
import { migrations } from '../risk-migrations.ts';
import { signingKeys } from './signing-keys.ts';

const SECRET = (id: string) => `${id}:${id.repeat(32)}`;

let server: ThrowawayPostgres;
let sql: Database;
const refused: number[] = [];

beforeAll(async () => {
  server = await preparedPostgres('risk', (url) => migrate({ url, sets: migrations }));
  const options = { applicationName: 'keys-test', maxConnections: 4, connectTimeoutMs: 5_000, deadlineMs: 20_000 };
  sql = openDatabase({ ...options, url: server.url });
}, 120_000);
beforeEach(async () => {
  refused.length = 0;
  await sql.query({ text: 'DELETE FROM risk.signing_keys' });
});
afterAll(async () => {
  await sql.close();
  await server.stop();
});

/** A process with these secrets, the first of which signs; returns the keys it publishes, by secret id. */
function processWith(...ids: string[]) {
  const secrets = ServerSecrets.parse(ids.map(SECRET).join(','));
  const macs = secrets.derive('risk published keys');
  const current = envelopeSigners(secrets).map(({ jwk }) => jwk);
  let nowMs = 0;
  const read = signingKeys({ sql, macs, current, now: () => nowMs, onRefused: (count) => refused.push(count) });
  return async () => {
    nowMs += 61_000;
    const { keys } = await read();
    const [first, ...others] = keys.map(
      ({ kid }) => ['a', 'b', 'c', 'd'].find((id) => kidOf(id) === kid) ?? 'stranger',
    );
    return [first, ...others.sort()].join(' ');
  };
}
const kidOf = (id: string) => envelopeSigners(ServerSecrets.parse(SECRET(id)))[0].jwk.kid;
const insert = (kid: string, jwk: string, macs: string | null) =>
  sql.query({
    text: `INSERT INTO risk.signing_keys (kid, jwk, macs, first_used_at) VALUES ($1, $2, $3, '2020-01-01')`,
    values: [kid, jwk, macs],
  });

it('retired keys stay listed through secret rotations, in every process that shares a secret with one that had them', async () => {
  expect(await processWith('a')()).toBe('a');
  const old = processWith('b', 'a');
  expect(await old()).toBe('b a');
  // During a rolling update, processes with only the old secrets list the new key and the retired ones too.
  expect(await processWith('c', 'b')()).toBe('c a b');
  expect(await old()).toBe('b a c');
  expect(await processWith('b')()).toBe('b a c');
  // The oldest secret is gone, its key is still listed.
  expect(await processWith('c')()).toBe('c a b');
  expect(await processWith('d', 'c')()).toBe('d a b c');
  expect(await processWith('d')()).toBe('d a b c');
  expect(refused).toEqual([]);
});

it('database access alone cannot publish a key, and refused rows are reported', async () => {
  const read = processWith('a');
  expect(await read()).toBe('a');
  const stranger = documentSigner(generateDocumentKey()).jwk;
  const [{ macs } = { macs: '' }] = await sql.query<{ macs: string }>({ text: 'SELECT macs FROM risk.signing_keys' });
  const forged = [null, '', macs, `a:${'A'.repeat(43)}`, 'a:', `${macs} ${macs}`, 'x'.repeat(100_000)];
  for (const [at, made] of forged.entries())
    await insert(`${stranger.kid}${at}`, JSON.stringify({ ...stranger, kid: `${stranger.kid}${at}` }), made);
  expect(await read()).toBe('a');
  expect(refused).toEqual([forged.length]);
  // Nor change a published key: the row of a current key is rewritten, that of a retired one is refused.
  await sql.query({ text: 'UPDATE risk.signing_keys SET jwk = $1', values: [JSON.stringify(stranger)] });
  expect(await read()).toBe('a');
  const next = processWith('b', 'a');
  expect(await next()).toBe('b a');
  await sql.query({ text: 'UPDATE risk.signing_keys SET jwk = $1 WHERE kid = $2', values: ['{}', kidOf('a')] });
  expect(await processWith('b')()).toBe('b');
});

it('a key published without a MAC by an earlier version is adopted by a process that has its secret', async () => {
  const [{ jwk }] = envelopeSigners(ServerSecrets.parse(SECRET('a')));
  await insert(jwk.kid, JSON.stringify(jwk), null);
  expect(await processWith('b')()).toBe('b');
  expect(await processWith('b', 'a')()).toBe('b a');
  expect(await processWith('b')()).toBe('b a');
});

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import { verify } from './harness/verifier.ts';
import { deliveredBy, sendGithub } from './harness/webhook-sender.ts';

const root = join(import.meta.dirname, '../../..');
const guide = readFileSync(join(root, 'infra/operations/take-github-webhooks.md'), 'utf8');
const lines = [...guide.matchAll(/^ *npx sealgate (.+)$/gm)].map(([, line = '']) => line);
const run = promisify(execFile);

let setup: ContractSetup;
beforeAll(async () => {
  setup = await sharedSetup();
}, setupTimeoutMs);
afterAll(() => setup.stop());

/** Runs a line of the page, with the ids of this run in place of the page's example ids. */
async function sealgate(line: string, ids: { sourceId?: string; recordId?: string } = {}): Promise<string> {
  const { sourceId = '', recordId = '' } = ids;
  const real = line
    .replace(/ > \S+$/, '')
    .replace('src_AAAAAAAAAAAAAAAAAAAAAA', sourceId)
    .replace('<recordId>', recordId);
  const words = [...real.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const env = {
    PATH: process.env['PATH'] ?? '',
    SEALGATE_ADMIN_URL: setup.gateway.admin.origin,
    SEALGATE_ADMIN_TOKEN: setup.adminToken,
  };
  const { stdout } = await run(process.execPath, [join(root, 'tools/admin/bin/sealgate.mjs'), ...words], { env });
  return stdout;
}

const lineOf = (start: string): string => {
  const found = lines.find((line) => line.startsWith(start));
  if (found === undefined) throw new Error(`The page has no line ${start}.`);
  return found;
};
const secretIn = (text: string): string => /^ {2}([A-Za-z0-9_-]{43})$/m.exec(text)?.[1] ?? '';

it('The page about webhooks of GitHub is correct: one record, two replays, a proof, and a rotated secret', async () => {
  await sealgate(lineOf('networks create'));
  const made = await sealgate(lineOf('sources create'));
  const sourceId = /src_[A-Za-z0-9_-]{22}/.exec(made)?.[0] ?? '';
  const path = `/hooks/${sourceId}`;
  const secret = secretIn(made);
  expect(await sealgate(lineOf('sources test'), { sourceId })).toMatch(/^status +200$/m);
  const delivery = { secret, body: '{"ref":"refs/heads/main"}', deliveryId: 'd-1', event: 'push' };
  const { records } = deliveredBy(await sendGithub(setup.gateway.public, path, delivery));
  for (const _ of [1, 2]) deliveredBy(await sendGithub(setup.gateway.public, path, delivery), true);
  expect((await sealgate(lineOf('sources deliveries'), { sourceId })).match(/ written /g)).toHaveLength(2);
  expect(await sealgate(lineOf('events list'))).toContain('push');
  const proof = await sealgate(lineOf('ledger proof'), { recordId: records[0]!.id });
  writeFileSync(join(setup.folder, 'proof.json'), proof);
  expect((await verify(setup.folder, 'receipt', 'proof.json', '--key', setup.verifierKey)).exitCode).toBe(0);
  const next = secretIn(await sealgate(lineOf('sources add-secret'), { sourceId }));
  for (const [n, key] of [secret, next].entries())
    deliveredBy(await sendGithub(setup.gateway.public, path, { ...delivery, secret: key, deliveryId: `r-${n}` }));
  await sealgate(lineOf('sources remove-secret'), { sourceId });
  expect((await sendGithub(setup.gateway.public, path, { ...delivery, deliveryId: 'r-2' })).status).toBe(401);
  deliveredBy(await sendGithub(setup.gateway.public, path, { ...delivery, secret: next, deliveryId: 'r-3' }));
}, 120_000);

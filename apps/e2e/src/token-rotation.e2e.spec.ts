import { randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until, type ThrowawayPostgres } from '@sealgate/testing';
import { migratedPostgres } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { Gateway } from './harness/gateway-process.ts';
import { ledgerOrigin } from './harness/surface-setup.ts';
import { newNoteKey } from './harness/note-key.ts';
import { keyHash, newKey, peerEnv } from './harness/peer-setup.ts';
import { boundMs } from './harness/scale.ts';
import { expectAnswer, expectReplay, load, replayOneOf, TwoProcesses, type Kept } from './harness/two-processes.ts';

const storyTimeoutMs = 240_000;

describe('Tokens and keys rotated on two processes, one after the other, under load', () => {
  let postgres: ThrowawayPostgres;
  let folder: string;
  beforeAll(async () => {
    postgres = await migratedPostgres('ledger-peer');
    folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-tokens-'));
  }, setupTimeoutMs);
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await postgres.stop();
  }, setupTimeoutMs);

  it(
    'keys of senders and tokens of operators are reloaded by processes configured with a file, next to one configured with a list',
    async () => {
      const [oldKey, nextKey, oldToken, nextToken] = [newKey(), newKey(), newKey(), newKey()];
      const idOf = (text: string): string => keyHash(text).slice(0, 8);
      const [keyFile, tokenFile] = [join(folder, 'keys'), join(folder, 'tokens')];
      const both = `team:${keyHash(oldKey)},team:${keyHash(nextKey)}`;
      writeFileSync(keyFile, `team:${keyHash(oldKey)}\n`);
      writeFileSync(tokenFile, `${keyHash(oldToken)}\n`);
      const files = { API_KEY_HASHES: `file://${keyFile}`, ADMIN_TOKEN_HASHES: `file://${tokenFile}` };
      const lists = { API_KEY_HASHES: `team:${keyHash(oldKey)}`, ADMIN_TOKEN_HASHES: keyHash(oldToken) };
      const LEDGER_SIGNING_KEY = newNoteKey(ledgerOrigin).signingKey;
      const env = { ...peerEnv(folder, postgres.url), LEDGER_SIGNING_KEY, ...files };
      const peer = await TwoProcesses.start('ledger-peer', { postgres, folder, env });
      const [follows, listed] = peer.gateways as [Gateway, Gateway];
      await peer.restart(listed, lists);
      let key = oldKey;
      const post = (gateway: Gateway, asKey: string, idempotencyKey: string, body: object) =>
        gateway.public.send({
          method: 'POST',
          path: '/api/assets',
          body: JSON.stringify(body),
          headers: { 'X-Api-Key': asKey, 'Idempotency-Key': idempotencyKey, 'Content-Type': 'application/json' },
        });
      const kept: Kept[] = [];
      const write = async (): Promise<void> => {
        const body = { assets: [{ id: randomBytes(8).toString('hex'), type: 'asset', data: {} }] };
        const [name, asKey] = [randomBytes(8).toString('hex'), key];
        const answer = await peer.at((gateway) => post(gateway, asKey, name, body));
        expectAnswer(answer, 200);
        kept.push({ key: name, body, text: answer.text });
      };
      const replay = () =>
        replayOneOf(kept, async (one) => {
          const asKey = key;
          expectReplay(await peer.at((gateway) => post(gateway, asKey, one.key, one.body)), one);
        });
      const statusOf = async (gateway: Gateway, asKey: string) => (await post(gateway, asKey, 'x', {})).status;
      const adminStatus = async (gateway: Gateway, token: string) =>
        (await gateway.admin.send({ path: '/admin/v1/secrets', headers: { Authorization: `Bearer ${token}` } })).status;
      const accepts = (gateway: Gateway) =>
        Promise.all([
          ...[statusOf(gateway, oldKey), statusOf(gateway, nextKey)],
          ...[adminStatus(gateway, oldToken), adminStatus(gateway, nextToken)],
        ]);
      const { goOn, stop } = load([write, write, replay]);
      await goOn();

      // Accept: the file is reloaded, the list needs a restart.
      const change = (keys: string, tokens: string) => {
        writeFileSync(`${keyFile}.next`, keys);
        renameSync(`${keyFile}.next`, keyFile);
        writeFileSync(tokenFile, tokens);
      };
      change(both, `${keyHash(oldToken)},${keyHash(nextToken)}`);
      await until(async () => String(await accepts(follows)) === '400,400,200,200', { timeoutMs: boundMs(5_000) });
      expect(await accepts(listed)).toEqual([400, 401, 200, 401]);
      await goOn();
      await peer.restart(listed, {
        API_KEY_HASHES: both,
        ADMIN_TOKEN_HASHES: `${keyHash(oldToken)},${keyHash(nextToken)}`,
      });
      expect(await accepts(listed)).toEqual([400, 400, 200, 200]);

      // Use: writes of the old key are replayed to the new one, on either process.
      key = nextKey;
      await goOn();

      // An invalid list is not loaded.
      change(`${both},raw-key`, '');
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect(await accepts(follows)).toEqual([400, 400, 200, 200]);
      await goOn();

      // Retire.
      change(`team:${keyHash(nextKey)}`, keyHash(nextToken));
      await until(async () => String(await accepts(follows)) === '401,400,401,200', { timeoutMs: boundMs(5_000) });
      await goOn();
      await stop();
      await peer.restart(listed, files);
      expect(await accepts(listed)).toEqual([401, 400, 401, 200]);

      // What each process accepts is in the database within a minute; at startup immediately.
      await peer.restart(follows, files);
      const read = async () => {
        const headers = { Authorization: `Bearer ${nextToken}` };
        const report = await follows.admin.send({ path: '/admin/v1/secrets', headers });
        return (report.body as { accepted: { variable: string; id: string; accepts: number; lastUsedAt: string }[] })
          .accepted;
      };
      await until(async () => (await read()).every(({ accepts: count }) => count === 2), { timeoutMs: boundMs(5_000) });
      const accepted = await read();
      expect(accepted.map(({ variable, id }) => `${variable} ${id}`)).toEqual([
        `ADMIN_TOKEN_HASHES ${idOf(nextToken)}`,
        `API_KEY_HASHES ${idOf(nextKey)}`,
      ]);
      for (const { lastUsedAt } of accepted) expect(Date.now() - Date.parse(lastUsedAt)).toBeLessThan(storyTimeoutMs);
      expect(accepted).toMatchObject([
        { accepts: 2, unaware: 0 },
        { accepts: 2, unaware: 0 },
      ]);
      await peer.stop();
      expect(peer.logText()).not.toContain('raw-key');
    },
    storyTimeoutMs,
  );
});

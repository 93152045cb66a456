import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until, type ThrowawayPostgres } from '@sealgate/testing';
import type { WriteAnswer } from './harness/answers.ts';
import { migratedPostgres } from './harness/bundle.ts';
import { errorsIn } from './harness/gateway-process.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { outOfReach } from './harness/installation.ts';
import { ledgerOrigin } from './harness/surface-setup.ts';
import { newNoteKey } from './harness/note-key.ts';
import { keyHash, newKey, peerEnv } from './harness/peer-setup.ts';
import { askRisk } from './harness/risk-setup.ts';
import { boundMs } from './harness/scale.ts';
import { sender } from './harness/sender.ts';
import {
  expectAnswer,
  expectReplay,
  load,
  oneOf,
  replayOneOf,
  TwoProcesses,
  type Kept,
} from './harness/two-processes.ts';
import { judgeLog, verify } from './harness/verifier.ts';
import { newSecret, newSource, sendGithub } from './harness/webhook-sender.ts';

const [OLD, NEW] = [`old:${'o'.repeat(40)}`, `new:${'n'.repeat(40)}`];
/** The settings of each process in turn: the initial ones, to accept, to use, to retire. */
const PHASES = { begin: OLD, accept: `${OLD},${NEW}`, use: `${NEW},${OLD}`, retire: NEW } as const;
const storyTimeoutMs = 240_000;

let postgres: ThrowawayPostgres;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-rotation-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres.stop();
});

async function start(surface: Parameters<typeof TwoProcesses.start>[0], env: Readonly<Record<string, string>>) {
  postgres = await migratedPostgres(surface);
  const all = { SERVER_SECRETS: PHASES.begin, ...env, DATABASE_URL: postgres.url };
  return TwoProcesses.start(surface, { postgres, folder, env: all });
}

describe('Secrets rotated on two processes, one after the other, under load', () => {
  it(
    'the ingest gateway refuses no write and no replay, under a new server secret and a new key of the ledger',
    async () => {
      const [oldKey, nextKey] = [newNoteKey(ledgerOrigin), newNoteKey(ledgerOrigin)];
      const gateway = await start('ingest-gateway', { LEDGER_SIGNING_KEY: oldKey.signingKey });
      const body = { networkId: 'rotated', channels: ['main', 'side'], limits: outOfReach };
      await gateway.admin.ask('POST', '/networks', body);
      const minted = await gateway.admin.ask('POST', '/networks/rotated/keys', { label: 'e2e', limits: outOfReach });
      const kept: Kept[] = [];
      const post = (key: string, sent: object) =>
        gateway.at((one) =>
          sender(one.public, 'rotated', String(minted['rawKey'])).post(sent, { idempotencyKey: key }),
        );
      const write = async (): Promise<void> => {
        const key = randomBytes(8).toString('hex');
        const sent = { assets: [{ n: kept.length }, { n: 1, targetChannels: ['main', 'side'] }] };
        const answer = await post(key, sent);
        expectAnswer(answer, 200);
        kept.push({ key, body: sent, text: answer.text });
      };
      const replay = () =>
        replayOneOf(kept, async (one) => {
          expectReplay(await post(one.key, one.body), one);
          expectAnswer(await post(one.key, { other: true }), 422);
        });
      const verifierKeys = `${nextKey.verifierKey},${oldKey.verifierKey}`;
      const { goOn, stop } = load([write, write, replay, replay]);
      await goOn();
      await gateway.roll({ SERVER_SECRETS: PHASES.accept, LEDGER_VERIFIER_KEYS: verifierKeys });
      await goOn();
      const both = `${nextKey.signingKey},${oldKey.signingKey}`;
      await gateway.roll({ SERVER_SECRETS: PHASES.use, LEDGER_SIGNING_KEY: both });
      await goOn();
      await gateway.roll({ LEDGER_SIGNING_KEY: nextKey.signingKey });
      await goOn();
      await stop();

      // Each record is in the log once, and nothing else; with either key, or both, a consistent extension is verified.
      const keysFile = join(folder, 'both.vkey');
      writeFileSync(keysFile, `${nextKey.verifierKey}\n${oldKey.verifierKey}\n`);
      const answers = kept.map(({ text }) => text);
      const savedFolders = [1, 2].map((number) => join(folder, `checkpoints-ingest-gateway-${number}/rotated.main`));
      const story = {
        admin: gateway.admin,
        channel: 'rotated.main',
        verifierKey: keysFile,
        folder,
        answers,
        savedFolders,
      };
      expect(await judgeLog(story)).toBe(kept.length * 2);
      const sideStory = { ...story, channel: 'rotated.side', savedFolders: [] };
      expect(await judgeLog(sideStory)).toBe(kept.length);
      const note = (await gateway.admin.get('/ledger/channels/rotated.main/checkpoint')).text;
      expect(note.match(/^— /gm)).toHaveLength(2); // The new root key, and the key of the log.
      const ids = new Map((JSON.parse(answers[0]!) as WriteAnswer).records.map(({ id, channel }) => [channel, id]));
      expect(ids.size).toBe(2);

      // The claims of the old one are not removed early.
      const [claims] = await gateway.needs('old');
      expect(claims?.what).toBe('claims on Idempotency-Keys');
      expect((Date.parse(claims!.until) - Date.now()) / 86_400_000).toBeCloseTo(400, 0);
      await gateway.stop();
      expect(errorsIn(gateway.logText())).toEqual([]);
    },
    storyTimeoutMs,
  );

  it(
    'the ingest gateway writes every delivery to a source once, also after the old server secret is removed',
    async () => {
      const { signingKey, verifierKey } = newNoteKey(ledgerOrigin);
      const gateway = await start('ingest-gateway', { LEDGER_SIGNING_KEY: signingKey });
      await gateway.admin.ask('POST', '/networks', { networkId: 'hooks', limits: outOfReach });
      const secret = newSecret();
      const { path } = await newSource(gateway.admin, 'hooks', { secret, limits: outOfReach });
      const kept: Kept[] = [];
      const deliver = (key: string, body: object) =>
        gateway.at((one) => sendGithub(one.public, path, { secret, deliveryId: key, body: JSON.stringify(body) }));
      const write = async (): Promise<void> => {
        const [key, body] = [randomBytes(8).toString('hex'), { n: kept.length }];
        const answer = await deliver(key, body);
        expectAnswer(answer, 200);
        if (answer.headers['idempotent-replayed'] !== undefined) throw new Error('A new delivery was a replay.');
        kept.push({ key, body, text: answer.text });
      };
      let from = 0; // Claims of a removed secret are not recognised.
      const again = () =>
        replayOneOf(kept.slice(from), async (one) => expectReplay(await deliver(one.key, one.body), one));
      const before = load([write, write, again, again]);
      await before.goOn();
      for (const phase of ['accept', 'use'] as const) {
        await gateway.roll({ SERVER_SECRETS: PHASES[phase] });
        await before.goOn();
      }
      const isNeeded = async () => (await gateway.needs('old')).some(({ what }) => what === 'secrets of sources');
      await until(async () => !(await isNeeded()), { timeoutMs: boundMs(75_000) });
      await before.stop();
      from = kept.length;
      const after = load([write, write, again, again]);
      await gateway.roll({ SERVER_SECRETS: PHASES.retire });
      await after.goOn();
      await after.stop();
      const judged = { admin: gateway.admin, channel: 'hooks.main', verifierKey, folder, savedFolders: [] };
      expect(await judgeLog({ ...judged, answers: kept.map(({ text }) => text) })).toBe(kept.length);
      await gateway.stop();
      expect(gateway.logText()).not.toMatch(/"source_secret_sealed"/);
    },
    storyTimeoutMs,
  );

  it(
    'the ledger peer refuses no write, no replay, no job and no cursor',
    async () => {
      const key = newKey();
      const noteKey = newNoteKey(ledgerOrigin);
      const peer = await start('ledger-peer', {
        ...peerEnv(folder, ''),
        SERVER_SECRETS: PHASES.begin,
        API_KEY_HASHES: keyHash(key),
        LEDGER_SIGNING_KEY: noteKey.signingKey,
      });
      const ask = (method: string, path: string, sent?: object, headers: Record<string, string> = {}) =>
        peer.at((one) =>
          one.public.send({
            method,
            path,
            headers: {
              'X-Api-Key': key,
              ...(sent === undefined ? {} : { 'Content-Type': 'application/json' }),
              ...headers,
            },
            ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
          }),
        );
      const kept: Kept[] = [];
      const jobs: string[] = [];
      const newAssets = () => ({ assets: [{ id: randomBytes(8).toString('hex'), type: 'asset', data: {} }] });
      const write = async (): Promise<void> => {
        const [idempotencyKey, body] = [randomBytes(8).toString('hex'), newAssets()];
        const answer = await ask('POST', '/api/assets', body, { 'Idempotency-Key': idempotencyKey });
        expectAnswer(answer, 200);
        kept.push({ key: idempotencyKey, body, text: answer.text });
      };
      const replay = () =>
        replayOneOf(kept, async (one) =>
          expectReplay(await ask('POST', '/api/assets', one.body, { 'Idempotency-Key': one.key }), one),
        );
      const later = async (): Promise<void> => {
        const headers = { Prefer: 'respond-async', 'Idempotency-Key': randomBytes(8).toString('hex') };
        const answer = await ask('POST', '/api/assets', newAssets(), headers);
        expectAnswer(answer, 202);
        jobs.push(String(answer.headers['location']));
        expectAnswer(await ask('GET', oneOf(jobs)!), 200);
      };
      const page = async (): Promise<void> => {
        const first = await ask('POST', '/api/assets/query', { type: 'asset', limit: 1 });
        expectAnswer(first, 200);
        const { nextCursor: cursor } = first.body as { nextCursor: string | null };
        if (cursor !== null)
          expectAnswer(await ask('POST', '/api/assets/query', { type: 'asset', limit: 1, cursor }), 200);
      };
      const { goOn, stop } = load([write, replay, later, page]);
      await goOn();
      for (const phase of ['accept', 'use'] as const) {
        await peer.roll({ SERVER_SECRETS: PHASES[phase] });
        await goOn();
      }
      await stop();
      expect((await peer.needs('old')).map(({ what }) => what)).toEqual([
        'claims on Idempotency-Keys',
        'cursors of lists',
      ]);
      for (const location of jobs)
        await until(async () => ((await ask('GET', location)).body as { status: string }).status === 'done', {
          timeoutMs: boundMs(40_000),
        });

      // Removed too early: refused, as required, and reported.
      await peer.roll({ SERVER_SECRETS: PHASES.retire });
      const early = await ask('POST', '/api/assets', kept[0]!.body, { 'Idempotency-Key': kept[0]!.key });
      expect(early.status).toBe(422);
      await until(() => peer.logText().includes('"server_secret_missing"'), { timeoutMs: boundMs(10_000) });
      await peer.stop();
    },
    storyTimeoutMs,
  );

  it(
    'the risk partner refuses no cursor, and every envelope is signed by a key that each process publishes',
    async () => {
      const noteKey = newNoteKey(ledgerOrigin);
      const limits = { RATE_PER_SECOND: '1000000', RATE_BURST: '1000000' };
      const risk = await start('risk-partner', { LEDGER_SIGNING_KEY: noteKey.signingKey, ...limits });
      const { id: orgId } = await risk.admin.ask('POST', '/orgs', { name: 'E2E' });
      const newPerson = async (role: string, kind: string): Promise<string> => {
        const { id } = await risk.admin.ask('POST', `/orgs/${String(orgId)}/people`, {
          name: 'P',
          kind,
          roles: [role],
        });
        const key = await risk.admin.ask('POST', `/orgs/${String(orgId)}/people/${String(id)}/keys`, { label: 'e2e' });
        return String(key['rawKey']);
      };
      const [owner, partner] = [await newPerson('owner', 'human'), await newPerson('partner_read', 'machine')];
      for (let at = 0; at < 3; at += 1) {
        const body = { title: `Risk ${at}`, category: 'ops', inherent: { likelihood: 1, impact: 2 } };
        await risk.at((one) => askRisk(one, owner, ['POST', '/api/risks'], { body }));
      }
      const envelopes: HttpAnswer[] = [];
      const page = async (): Promise<void> => {
        const first = await risk.at((one) => askRisk(one, partner, ['GET', '/api/v1/risks?limit=1']));
        expectAnswer(first, 200);
        const { nextCursor } = first.body['pagination'] as { nextCursor: string };
        const path = `/api/v1/risks?limit=1&cursor=${nextCursor}`;
        const second = await risk.at((one) => askRisk(one, partner, ['GET', path]));
        expectAnswer(second, 200);
        const signature = String(second.headers['evidence-signature']);
        const { kid } = JSON.parse(Buffer.from(signature.split('.')[0]!, 'base64url').toString()) as { kid: string };
        const published = await risk.at((one) => askRisk(one, partner, ['GET', '/.well-known/jwks.json']));
        const { keys } = published.body as unknown as { keys: { kid: string }[] };
        if (!keys.some((key) => key.kid === kid)) throw new Error('A key signed that is not published everywhere.');
        envelopes.push(second);
      };
      const { goOn, stop } = load([page, page, page]);
      await goOn();
      for (const phase of ['accept', 'use'] as const) {
        await risk.roll({ SERVER_SECRETS: PHASES[phase] });
        await goOn();
      }
      await stop();
      expect(await risk.needs('old')).toMatchObject([{ what: 'cursors of lists' }]);

      // A day later no cursor of the old one is in use; its signatures stay verifiable.
      await risk.roll({ SERVER_SECRETS: PHASES.retire });
      const keys = await risk.at((one) => askRisk(one, partner, ['GET', '/.well-known/jwks.json']));
      writeFileSync(join(folder, 'keys.json'), keys.text);
      for (const envelope of [envelopes[0]!, envelopes.at(-1)!]) {
        writeFileSync(join(folder, 'page.json'), envelope.text);
        const signature = String(envelope.headers['evidence-signature']);
        const { exitCode, text } = await verify(
          folder,
          'envelope',
          'page.json',
          '--signature',
          signature,
          '--jwks',
          'keys.json',
        );
        expect({ exitCode, text }).toMatchObject({ exitCode: 0 });
      }
      await risk.stop();
      expect(risk.logText()).not.toContain('signing_keys_refused');
    },
    storyTimeoutMs,
  );
});

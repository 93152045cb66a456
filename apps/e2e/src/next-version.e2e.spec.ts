import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { adminClient } from './harness/admin-client.ts';
import { databaseVariables, programOf, runMigrations } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { approvedSubject, askGate, doorAnswer, gateSetup } from './harness/gate-setup.ts';
import type { Gateway } from './harness/gateway-process.ts';
import type { HttpAnswer } from './harness/http-exchange.ts';
import { install, outOfReach } from './harness/installation.ts';
import { callers, nextVersion, type Ask } from './harness/next-version.ts';
import { peerSetup } from './harness/peer-setup.ts';
import { askRisk, riskSetup } from './harness/risk-setup.ts';
import { sender } from './harness/sender.ts';
import type { SurfaceSetup } from './harness/surface-setup.ts';
import { newSecret, newSource, sendGithub } from './harness/webhook-sender.ts';

let postgres: ThrowawayPostgres;
beforeAll(async () => {
  postgres = await throwawayPostgres();
}, setupTimeoutMs);
afterAll(() => postgres.stop());

/** A surface under load: what its callers ask, and all that they may be answered. */
interface Story {
  readonly setup: SurfaceSetup;
  readonly asks: readonly Ask[];
  readonly answers: readonly string[];
  readonly migrationOf?: (set: string, now: string) => readonly string[];
}

let made = 0;
const freshId = (): string => `id-${(made += 1)}`;

/** An answer in words: `case 200`, or why not. */
const told = (what: string, { status, text }: HttpAnswer): string => `${what} ${status === 200 ? status : text}`;

/** Lists of the admin API; each answer is `<path> 200`. */
const lists = ({ adminToken }: SurfaceSetup, paths: readonly string[]): readonly Ask[] =>
  paths.map((path) => async (at) => told(path, await adminClient(at.admin, adminToken).get(path)));

const stories: Record<string, (url: string) => Promise<Story>> = {
  async 'risk-partner'(url) {
    const setup = await riskSetup({ url });
    const { key } = await setup.newPerson(['owner']);
    const reviewer = await setup.newPerson(['risk_manager']);
    const risk = { title: 'R', category: 'ops', inherent: { likelihood: 1, impact: 2 } };
    const kept: Ask[] = ['/api/risks', '/api/v1/risks', '/api/heat-map', '/api/evidence'].map(
      (path) => async (at) => `${path} ${(await askRisk(at, key, ['GET', path])).status}`,
    );
    const writes: Ask = async (at) => {
      const { status, body } = await askRisk(at, key, ['POST', '/api/risks'], { body: risk });
      const changes = { body: { title: 'S' }, headers: { 'If-Match': '*' } };
      const changed = await askRisk(at, key, ['PATCH', `/api/risks/${String(body['id'])}`], changes);
      return `risk ${status} ${changed.status}`;
    };
    const approves: Ask = async (at) => {
      const evidence = { title: 'E', kind: 'document', sha256: hash('sha256', freshId(), 'hex') };
      const { body } = await askRisk(at, key, ['POST', '/api/evidence'], { body: evidence });
      const step = (to: string, by: string) =>
        askRisk(at, by, ['POST', `/api/evidence/${String(body['id'])}/transitions`], { body: { to } });
      return `evidence ${(await step('in_review', key)).status} ${(await step('approved', reviewer.key)).status}`;
    };
    const paths = ['/orgs', `/orgs/${setup.orgId}/people`, `/orgs/${setup.orgId}/frameworks`, '/audit'];
    return {
      setup,
      asks: [...kept, writes, approves, ...lists(setup, paths)],
      answers: [
        ...['/api/risks 200', '/api/v1/risks 200', '/api/heat-map 200', '/api/evidence 200'],
        ...['risk 201 200', 'evidence 200 200', ...paths.map((path) => `${path} 200`)],
      ],
    };
  },

  async 'case-gate'(url) {
    const setup = await gateSetup({ postgres: { url }, env: { GATE_DEADLINE_MS: '5000' } });
    const { subjectRef, caseId } = await approvedSubject(setup);
    const at = (gate: Gateway) => ({ gate, key: setup.key });
    // What either process decides, the door of the other lets in.
    const decides: Ask = async (gate, other) => doorAnswer(at(other), (await approvedSubject(at(gate))).subjectRef);
    const reads: Ask = async (gate) => told('case', await askGate(at(gate), ['GET', `/v1/cases/${caseId}`]));
    const paths = [
      '/keys',
      '/venues',
      '/policies',
      '/cases',
      '/case-counts',
      '/decisions',
      '/unconfirmed-subjects',
      '/audit',
    ];
    const doors: Ask = (gate) => doorAnswer(at(gate), subjectRef);
    return {
      setup,
      asks: [doors, decides, doors, reads, ...lists(setup, paths)],
      answers: ['200 allow ELIGIBLE', 'case 200', ...paths.map((path) => `${path} 200`)],
      migrationOf: (set, now) => (set === 'gate' ? widerLookUp(now) : []),
    };
  },

  async 'ledger-peer'(url) {
    const setup = await peerSetup({ postgres: { ...postgres, url } });
    const writes: Ask = async (peer) => {
      const id = freshId();
      const body = { assets: [{ id, type: 'asset', data: {} }] };
      const { status } = await setup.ask('POST', '/api/assets', { peer, body });
      return `asset ${status} ${(await setup.ask('GET', `/api/assets/${id}`, { peer })).status}`;
    };
    const later: Ask = async (peer) => {
      const body = { assets: [{ id: freshId(), type: 'asset', data: {} }] };
      const headers = { Prefer: 'respond-async' };
      return `job ${(await setup.ask('POST', '/api/assets', { peer, body, headers })).status}`;
    };
    const paths = ['/ledger/channels', '/ledger/keys', '/audit', '/audit/keys'];
    return {
      setup,
      asks: [writes, later, ...lists(setup, paths)],
      answers: ['asset 200 200', 'job 202', ...paths.map((path) => `${path} 200`)],
    };
  },

  async 'ingest-gateway'(url) {
    const setup = await install({ postgres: { url } });
    const networkId = await setup.newNetwork();
    const { rawKey } = await setup.newKey(networkId);
    const writes: Ask = async (at) => {
      const { status } = await sender(at.public, networkId, rawKey).post(
        { id: freshId() },
        { idempotencyKey: freshId() },
      );
      return `record ${status}`;
    };
    const secret = newSecret();
    const { path } = await newSource(setup.admin, networkId, { secret, limits: outOfReach });
    const delivers: Ask = async (at) => {
      const sent = { secret, deliveryId: freshId(), body: '{}' };
      return `delivery ${(await sendGithub(at.public, path, sent)).status}`;
    };
    const paths = ['/networks', `/networks/${networkId}/keys`, `/networks/${networkId}/sources`, '/events', '/audit'];
    return {
      setup,
      asks: [writes, delivers, ...lists(setup, paths)],
      answers: ['record 200', 'delivery 200', ...paths.map((path) => `${path} 200`)],
    };
  },
};

/** The look-up of a check, made anew to return one of the new columns too. */
function widerLookUp(now: string): readonly string[] {
  const [lookUp = ''] = /^CREATE FUNCTION look_up\([^]*?^END \$\$;$/m.exec(now) ?? [];
  const returning = lookUp
    .replace('venue_mac text)', 'venue_mac text, venue_next text)')
    .replace('v.mac', 'v.mac, v.next');
  expect(returning).toHaveLength(lookUp.length + ', venue_next text, v.next'.length);
  return ['DROP FUNCTION look_up;', returning];
}

describe('While the next version migrates, runs beside the old one, replaces it, and is replaced by it again', () => {
  it.each(Object.keys(stories))(
    'every request to %s is answered as before',
    async (surface) => {
      const url = await postgres.newDatabase();
      const { setup, asks, answers, migrationOf } = await stories[surface]!(url);
      const asBefore = [...answers].sort();
      const others = new Map<Gateway, Gateway>();
      const serve = (at: Gateway) => ({ at, by: callers(at, asks, () => others.get(at) ?? at) });
      /** Both serve, then `to` alone, while the other one ends. */
      const handOver = async (from: ReturnType<typeof serve>, to: Gateway) => {
        await to.start();
        others.set(from.at, to).set(to, from.at);
        const young = serve(to);
        await Promise.all([young.by.more(4), from.by.more(4)]);
        expect(await from.by.stop()).toEqual(asBefore);
        others.delete(to);
        await young.by.more(4);
        expect(await from.at.stop()).toBe(0);
        await young.by.more(4);
        return young;
      };
      try {
        const first = serve(setup.processes[0]!);
        await first.by.more(4);
        const { main, migrate } = nextVersion(surface, setup.folder, migrationOf);
        const job = { MIGRATION_DATABASE_URL: url, ...databaseVariables(url, surface) };
        await runMigrations(job, surface, migrate);
        await first.by.more(4);
        const next = await handOver(first, await setup.another(main));
        // The job of the old version changes nothing, and its process runs on what the next one migrated and wrote.
        await runMigrations(job, surface);
        const back = await handOver(next, await setup.another(programOf(surface, 'main')));
        expect(await back.by.stop()).toEqual(asBefore);
      } finally {
        await setup.stop();
      }
    },
    120_000,
  );
});

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey, jwksOf, verifyDetached } from '@sealgate/envelope';
import { canonical } from '@sealgate/json';
import { generateNoteKey } from '@sealgate/merkle';
import { throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import {
  check,
  gateSite,
  newCase,
  sealedCase,
  SETUP_MS,
  type GateSite,
  type RunningGate,
} from '../test/running-gate.ts';

type Site = GateSite & { readonly key: string };

const [OLD, NEW] = [`old:${'o'.repeat(40)}`, `new:${'n'.repeat(40)}`];
const noteKey = generateNoteKey('ledger.test');
const VERSIONS_OF_HALL = 300;
const SLOWLY = { timeoutMs: 60_000 };

let server: ThrowawayPostgres;
let key: string;
/** The running processes, each with its requests in flight. */
const there = new Map<RunningGate, Set<Promise<unknown>>>();
let newest: Site;

beforeAll(async () => {
  server = await throwawayPostgres();
  await start(OLD);
  ({ key } = newest);
  await start(OLD);
}, SETUP_MS);
afterAll(async () => {
  for (const gate of there.keys()) await gate.stop();
  await server.stop();
});

async function start(secrets: string): Promise<void> {
  // Nobody may be denied because of a secret; that a check is in time is measured elsewhere.
  const env = { SERVER_SECRETS: secrets, LEDGER_SIGNING_KEY: noteKey.privateKey, GATE_DEADLINE_MS: '5000' };
  newest = await gateSite(env, server);
  there.set(newest, new Set());
}

/** Replaces each process by one with these secrets, one after the other, as a rolling update does. */
async function roll(secrets: string): Promise<void> {
  for (const gate of [...there.keys()]) {
    await start(secrets);
    const underWay = there.get(gate)!;
    there.delete(gate);
    await Promise.allSettled(underWay);
    await gate.stop();
  }
}

/** Asks a random process, which is not stopped before it has answered. */
function at<Answer>(ask: (gate: RunningGate) => Promise<Answer>): Promise<Answer> {
  const gates = [...there];
  const [gate, underWay] = gates[Math.floor(Math.random() * gates.length)]!;
  const asked = ask(gate);
  underWay.add(asked);
  return asked.finally(() => underWay.delete(asked));
}

interface Sent {
  readonly idempotencyKey: string;
  readonly body: object;
  readonly answer: string;
}

/** The load during a rotation. Records everything unexpected. */
class Load {
  readonly wrong: string[] = [];
  count = 0;
  #isStopped = false;
  readonly #workers: Promise<void>[];
  readonly allowed: string[];
  readonly denied: string;
  sent: Sent[] = [];

  constructor({ allowed, denied }: { allowed: string[]; denied: string }) {
    [this.allowed, this.denied] = [allowed, denied];
    const works = [
      () => this.#enter(),
      () => this.#enter(),
      () => this.#open(),
      () => this.#replay(),
      () => this.#list(),
    ];
    this.#workers = works.map(async (work) => {
      while (!this.#isStopped) {
        await work().catch((error: unknown) => this.wrong.push(String(error)));
        this.count += 1;
      }
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#workers);
  }

  #expect(what: string, found: string, expected: string): void {
    if (found !== expected) this.wrong.push(`${what}: ${found} in place of ${expected}`);
  }

  async #enter(): Promise<void> {
    const subject = this.allowed[Math.floor(Math.random() * this.allowed.length)]!;
    this.#expect('allowed', await at((gate) => check(gate, key, subject)), 'allow ELIGIBLE');
    this.#expect('revoked', await at((gate) => check(gate, key, this.denied)), 'deny ELIGIBILITY_REVOKED');
  }

  async #open(): Promise<void> {
    const idempotencyKey = randomBytes(8).toString('hex');
    const body = { subject_ref: `subj_${randomBytes(8).toString('hex')}`, venue_ids: ['hall'] };
    const made = await this.#post(idempotencyKey, body);
    this.#expect('case', String(made.status), '201');
    this.sent.push({ idempotencyKey, body, answer: made.text });
    const { caseId, subjectRef } = await at((gate) => sealedCase(gate, key));
    if (Math.random() < 0.2) this.allowed.push(subjectRef);
    // Under a policy version of its own, so that the case is decided again, whichever secret authenticated it.
    const again = { policy_version: 'p2', decision: 'approve' };
    const decided = await at((gate) => gate.ask('POST', `/v1/cases/${caseId}/decide`, { key, body: again }));
    this.#expect('decided again', String(decided.status), '201');
  }

  async #replay(): Promise<void> {
    const [one] = this.sent.slice(Math.floor(Math.random() * this.sent.length));
    if (one === undefined) return new Promise((resolve) => setTimeout(resolve, 5));
    const again = await this.#post(one.idempotencyKey, one.body);
    this.#expect('replay', `${again.text} ${again.headers['idempotent-replayed']}`, `${one.answer} true`);
    const other = await this.#post(one.idempotencyKey, { ...one.body, venue_ids: [] });
    this.#expect('reused', String(other.status), '422');
  }

  async #list(): Promise<void> {
    const page = await at((gate) => gate.admin('GET', '/keys?environment=live&limit=1'));
    const next = await at((gate) => gate.admin('GET', `/keys?environment=live&limit=1&cursor=${page.body.nextCursor}`));
    this.#expect('page', String(next.status), '200');
  }

  #post(idempotencyKey: string, body: object) {
    const headers = { 'idempotency-key': idempotencyKey };
    return at((gate) => gate.ask('POST', '/v1/cases', { key, body, headers }));
  }
}

const needsOf = async (id: string): Promise<{ what: string; rows: number | null }[]> => {
  const { body } = await newest.admin('GET', '/secrets');
  return body.secrets.find((secret: { id: string }) => secret.id === id)?.needs ?? [];
};
const ON_THEIR_WAY = 'records on their way to the ledger';
const ROWS = new Set([ON_THEIR_WAY, 'keys', 'venues', 'policy versions', 'subjects', 'cases', 'decisions']);
const rowsOf = async (id: string) =>
  Object.fromEntries((await needsOf(id)).filter(({ what }) => ROWS.has(what)).map(({ what, rows }) => [what, rows]));
const rowOf = (table: string, subjectRef: string) =>
  newest.sql.query<{ row: string }>({
    text: `SELECT to_jsonb(t)::text AS row FROM gate.${table} t WHERE subject_ref = $1`,
    values: [subjectRef],
  });

describe('a rotation of server secrets, one process after the other, under load', () => {
  it('denies nobody, refuses no replay, restores nobody, and ends without the old secret', async () => {
    await newest.admin('POST', '/policies', { policy_version: 'p2', status: 'active' });
    // More versions than are looked up in one batch.
    for (let turn = 2; turn < VERSIONS_OF_HALL; turn += 1)
      await newest.admin('PATCH', '/venues/hall?environment=live', { name: `Hall ${turn}` });
    const allowed = await Promise.all(Array.from({ length: 5 }, () => at((gate) => sealedCase(gate, key))));
    const waiting = await newCase(newest, key);
    const [revoked, spoilt, returning] = await Promise.all([1, 2, 3].map(() => sealedCase(newest, key)));
    const { subjectRef: denied } = revoked!;
    await newest.admin('POST', `/subjects/${denied}/revoke`, { reason: 'Fraud' });
    // Forges a row that says more than was decided.
    const spoil = `UPDATE gate.eligibility SET document = replace(document, '"hall"', '"*"') WHERE subject_ref = $1`;
    await newest.sql.query({ text: spoil, values: [spoilt!.subjectRef] });
    const load = new Load({ allowed: allowed.map(({ subjectRef }) => subjectRef), denied });

    await until(() => load.count > 50, SLOWLY);
    await roll(`${OLD},${NEW}`);
    expect(await rowsOf('new')).toEqual({});
    await roll(`${NEW},${OLD}`);
    load.sent = load.sent.slice(-5);
    const made = load.count;
    expect(await rowsOf('old')).toMatchObject({ subjects: expect.any(Number), keys: expect.any(Number) });

    // Each process runs the job; the forged row is left to an operator.
    await until(async () => Object.keys(await rowsOf('old')).join() === 'subjects', SLOWLY);
    expect(await rowsOf('old')).toEqual({ subjects: 1 });
    const lines = [...there.keys()].flatMap((gate) => gate.logLines);
    expect(lines.filter((line) => line.includes('row_not_remade')).join()).toContain(spoilt!.subjectRef);
    expect(await check(newest, key, spoilt!.subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    await newest.admin('POST', `/subjects/${spoilt!.subjectRef}/revoke`, { reason: 'Spoilt' });
    await until(async () => Object.keys(await rowsOf('old')).length === 0, SLOWLY);
    expect((await needsOf('old')).map(({ what }) => what)).toEqual(['claims on Idempotency-Keys', 'cursors of lists']);

    // The rows before a revocation, to be restored after the old secret is gone.
    const before = await rowOf('eligibility', returning!.subjectRef);
    await newest.admin('POST', `/subjects/${returning!.subjectRef}/revoke`, { reason: 'Fraud' });
    await until(() => load.count > made + 50, SLOWLY);
    // Claims of the old secret are still replayed: it is removed only once they are gone.
    load.sent = [];
    await until(() => load.sent.length > 5, SLOWLY);
    await roll(NEW);
    const after = load.count;
    await until(() => load.count > after + 50, SLOWLY);
    await load.stop();
    expect(load.wrong.slice(0, 10)).toEqual([]);

    const missing = [...there.keys()]
      .flatMap((gate) => gate.logLines)
      .filter((line) => line.includes('server_secret_missing'));
    expect(missing.length).toBeGreaterThan(0);
    expect(missing[0]).toContain('claims on Idempotency-Keys');
    const body = { policy_version: 'p1', decision: 'approve' };
    expect((await newest.ask('POST', `/v1/cases/${waiting.caseId}/decide`, { key, body })).status).toBe(201);
    const { sql } = newest;
    const put = `UPDATE gate.eligibility e SET (record_version, status, document, changed_at, mac) =
      (SELECT r.record_version, r.status, r.document, r.changed_at, r.mac FROM jsonb_populate_record(e, $2::jsonb) r)
      WHERE subject_ref = $1`;
    await sql.query({ text: put, values: [returning!.subjectRef, before[0]!.row] });
    await sql.query({
      text: 'DELETE FROM gate.eligibility_history WHERE subject_ref = $1 AND record_version > $2',
      values: [returning!.subjectRef, JSON.parse(before[0]!.row).record_version],
    });
    for (const table of ['eligibility', 'eligibility_history'])
      await sql.query({ text: `DELETE FROM gate.${table} WHERE subject_ref = $1`, values: [denied] });
    for (const gate of there.keys())
      expect(await check(gate, key, returning!.subjectRef)).toBe('deny RECORD_INTEGRITY_FAILED');
    await sealedCase(newest, key, { create: { subject_ref: denied } });
    for (const gate of there.keys()) expect(await check(gate, key, denied)).toMatch(/^deny /);
    // The version of a venue is still known: a deleted one is created again as a later version.
    await sql.query({ text: `DELETE FROM gate.venues WHERE venue_id = 'hall'` });
    await newest.admin('POST', '/venues', { venue_id: 'hall', name: 'Hall' });
    const [hall] = await sql.query<{ record_version: number }>({
      text: `SELECT record_version FROM gate.venues WHERE venue_id = 'hall'`,
    });
    expect(hall?.record_version).toBe(VERSIONS_OF_HALL + 1);
    for (const gate of there.keys()) expect(await check(gate, key, load.allowed[0]!)).toBe('allow ELIGIBLE');
  }, 240_000);
});

describe('a rotation of the pack signing key', () => {
  it('has every pack verify with the key set of every process, in each phase', async () => {
    const [old, next] = [generateDocumentKey(), generateDocumentKey()];
    const published = (pem: string) => JSON.stringify(jwksOf([documentSigner(pem).jwk]));
    const site = await gateSite({ DOCUMENT_SIGNING_KEY: old }, await throwawayPostgres());
    const { caseId } = await sealedCase(site, site.key);
    const accepting = await site.replica({ DOCUMENT_SIGNING_KEY: old, DOCUMENT_RETIRED_KEYS: published(next) });
    const making = await site.replica({ DOCUMENT_SIGNING_KEY: next, DOCUMENT_RETIRED_KEYS: published(old) });
    const setOf = async (gate: RunningGate) => (await gate.ask('GET', '/.well-known/jwks.json')).body;
    const packOf = async (gate: RunningGate) =>
      (await gate.ask('GET', `/v1/cases/${caseId}/assessor-pack`, { key: site.key })).body;
    const verdict = async (signer: RunningGate, reader: RunningGate) => {
      const { pack_hash: _hash, generated_at: _at, signature, ...pack } = await packOf(signer);
      return verifyDetached(Buffer.from(canonical(pack)), signature, await setOf(reader)).ok;
    };
    for (const [signer, reader] of [
      [site, accepting],
      [accepting, site],
      [accepting, making],
      [making, accepting],
    ] as const)
      expect(await verdict(signer, reader)).toBe(true);
    // The purpose of this phase: a process without it does not know the new key.
    expect(await verdict(making, site)).toBe(false);
    await site.stop();
    await site.database.stop();
  }, 60_000);
});

import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql, expectProblem, throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { adminClient } from './harness/admin-client.ts';
import { programOf, runMigrations } from './harness/bundle.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { prepareGateway, type Gateway } from './harness/gateway-process.ts';
import { newDocumentKey } from './harness/new-secrets.ts';
import { ledgerOrigin } from './harness/surface-setup.ts';
import { newNoteKey } from './harness/note-key.ts';
import { keyHash, newKey, peerEnv } from './harness/peer-setup.ts';
import { boundMs } from './harness/scale.ts';

interface Surface {
  readonly name: string;
  /** A request that needs the database, with a well-formed key. */
  readonly ask: { readonly method: string; readonly path: string; readonly headers: Readonly<Record<string, string>> };
  readonly code: string;
  readonly adminPath: string;
}

const bearer = (prefix: string) => ({ Authorization: `Bearer ${prefix}${'A'.repeat(43)}` });
const surfaces: readonly Surface[] = [
  {
    name: 'risk-partner',
    ask: { method: 'GET', path: '/api/v1/risks', headers: bearer('svc_') },
    code: 'UNAVAILABLE',
    adminPath: '/orgs',
  },
  {
    name: 'case-gate',
    ask: { method: 'GET', path: '/v1/cases/case_x', headers: bearer('gk_') },
    code: 'UNAVAILABLE',
    adminPath: '/venues',
  },
  {
    name: 'ledger-peer',
    ask: { method: 'GET', path: '/api/assets/x', headers: {} },
    code: 'LEDGER_UNAVAILABLE',
    adminPath: '/ledger/channels',
  },
  {
    name: 'ingest-gateway',
    ask: { method: 'POST', path: '/acme', headers: { 'X-Api-Key': `ingest_${'A'.repeat(43)}` } },
    code: 'UNAVAILABLE',
    adminPath: '/networks',
  },
];

const adminToken = newKey();
const storyTimeoutMs = 240_000;

let server: ThrowawayPostgres;
let folder: string;
beforeAll(async () => {
  server = await throwawayPostgres({ own: true });
  folder = mkdtempSync(join(tmpdir(), 'sealgate-e2e-not-ready-'));
}, setupTimeoutMs);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}, setupTimeoutMs);

/** A surface on a database of its own, under a role of its own. */
class Site {
  readonly #surface: Surface;
  readonly #role: string;
  readonly #url: string;
  #service: Gateway | undefined;

  private constructor(surface: Surface, role: string, url: string) {
    this.#surface = surface;
    this.#role = role;
    this.#url = url;
  }

  static async on(surface: Surface): Promise<Site> {
    const role = `run_${randomBytes(4).toString('hex')}`;
    await executeSql(server.url, `CREATE ROLE ${role} LOGIN PASSWORD 'password'`);
    return new Site(surface, role, await server.newDatabase());
  }

  /** Runs a statement as the owner of the database. */
  asOwner(statement: string): Promise<void> {
    return executeSql(this.#url, statement.replaceAll('ROLE_OF_SITE', this.#role));
  }

  /** Runs the migration job with the run-time role of the service; with its own role where none is given. */
  migrate(runsAs: 'role' | 'owner' = 'role'): Promise<void> {
    const env = this.#env(runsAs === 'role' ? this.#asRole() : this.#url);
    return runMigrations({ ...env, MIGRATION_DATABASE_URL: this.#url }, this.#surface.name);
  }

  /** Resolves once its ops listener answers. */
  async start(password?: string): Promise<void> {
    const { name } = this.#surface;
    const logFile = join(folder, `${randomBytes(4).toString('hex')}.log`);
    const env = this.#env(this.#asRole(password));
    this.#service = await prepareGateway({ program: programOf(name, 'main'), env, logFile });
    void this.#service.start().catch(() => undefined);
    await until(() => this.#readiness().then(({ status }) => status !== 0), {
      timeoutMs: boundMs(20_000),
      what: 'an ops listener',
    });
  }

  get pid(): number {
    return this.#service!.pid;
  }

  get logText(): string {
    return this.#service!.logText();
  }

  tells(wanted: RegExp): Promise<void> {
    const isReported = async () => wanted.test((await this.#readiness()).reason ?? '');
    return until(isReported, { timeoutMs: boundMs(20_000), what: String(wanted) });
  }

  becomesReady(): Promise<void> {
    return until(async () => (await this.#readiness()).status === 200, { timeoutMs: boundMs(20_000), what: 'ready' });
  }

  /** Every request is 503, never 500, and only the one sentence is logged. */
  async refusesAll(sentence: RegExp): Promise<void> {
    const { ask, code, adminPath } = this.#surface;
    const headers = { ...ask.headers, 'Content-Type': 'application/json' };
    const body = ask.method === 'POST' ? { body: '{"a":1}' } : {};
    const answer = await this.#service!.public.send({ method: ask.method, path: ask.path, headers, ...body });
    expectProblem(answer, code);
    const admin = await adminClient(this.#service!.admin, adminToken).get(adminPath);
    expectProblem(admin, adminPath.startsWith('/ledger') ? 'LEDGER_UNAVAILABLE' : 'UNAVAILABLE');
    // On a busy machine a check may have timed out in between, which is logged as well.
    const isLogged = (): boolean => {
      const lines = this.logText.split('\n').filter((line) => line.includes('"database_not_ready"'));
      return sentence.test(lines.at(-1) ?? '');
    };
    await until(isLogged, { timeoutMs: boundMs(20_000), what: String(sentence) });
    expect(this.logText).not.toMatch(/\n\s+at |\\n +at /);
  }

  async stop(): Promise<void> {
    const code = await this.#service?.stop();
    this.#service?.release();
    expect(code).toBe(0);
  }

  #asRole(password = 'password'): string {
    return Object.assign(new URL(this.#url), { username: this.#role, password }).href;
  }

  async #readiness(): Promise<{ status: number; reason: string | undefined }> {
    const answer = await this.#service!.ops.send({ path: '/health/ready', timeoutMs: 3_000 }).catch(() => undefined);
    if (answer === undefined) return { status: 0, reason: undefined };
    const { problem, reason } = answer.body as { problem?: string; reason?: string };
    return { status: answer.status, reason: problem ?? reason };
  }

  #env(databaseUrl: string): Record<string, string> {
    const { name } = this.#surface;
    // Of its own: another surface would write the mapping file while the peer reads it.
    const own = join(folder, name);
    mkdirSync(own, { recursive: true });
    const { MAPPING_FILE: mappingFile = '', ...common } = peerEnv(own, databaseUrl);
    return {
      ...common,
      ...(name === 'ledger-peer' ? { MAPPING_FILE: mappingFile } : {}),
      ...(name === 'case-gate' ? { DOCUMENT_SIGNING_KEY: documentKey } : {}),
      ADMIN_TOKEN_HASHES: keyHash(adminToken),
      LEDGER_INTEGRATOR: 'true',
      LEDGER_SIGNING_KEY: newNoteKey(ledgerOrigin).signingKey,
      CHECKPOINT_DIR: join(folder, randomBytes(4).toString('hex')),
    };
  }
}

/** Runs the same on all of them concurrently: they mostly wait. */
async function onEach(story: (site: Site) => Promise<void>): Promise<void> {
  const tell = async (surface: Surface): Promise<void> => {
    const site = await Site.on(surface);
    try {
      await story(site);
      await site.stop();
    } catch (cause) {
      await site.stop().catch(() => undefined);
      throw new Error(`${surface.name}: ${(cause as Error).message}`, { cause });
    }
  };
  await Promise.all(surfaces.map(tell));
}

describe('Every surface on an unusable database', () => {
  it(
    'waits for the migration job, names the missing set, and becomes ready by itself once the job has run',
    () =>
      onEach(async (site) => {
        await site.start();
        const { pid } = site;
        await site.tells(/not migrated for this version: ledger\/ledger is missing/);
        await site.refusesAll(/ledger\/ledger is missing/);
        await site.migrate();
        await site.becomesReady();
        expect(site.pid).toBe(pid);
        expect(site.logText).toContain('"database_ready"');
      }),
    storyTimeoutMs,
  );

  it(
    'reports that its role has no rights, until the job grants them',
    () =>
      onEach(async (site) => {
        await site.migrate('owner');
        await site.start();
        await site.tells(/the role of DATABASE_URL has no rights in the schema ledger/);
        await site.refusesAll(/has no rights in the schema ledger/);
        await site.migrate();
        await site.becomesReady();
      }),
    storyTimeoutMs,
  );

  it(
    'reports that its password is wrong, and is ready once it is right',
    () =>
      onEach(async (site) => {
        await site.migrate();
        await site.start('new password');
        await site.tells(/the database refuses the password, or the role, of DATABASE_URL/);
        await site.refusesAll(/refuses the password/);
        await site.asOwner(`ALTER ROLE ROLE_OF_SITE PASSWORD 'new password'`);
        await site.becomesReady();
      }),
    storyTimeoutMs,
  );

  it(
    'loses its readiness when its rights are revoked at run time',
    () =>
      onEach(async (site) => {
        await site.migrate();
        await site.start();
        await site.becomesReady();
        await site.asOwner('REVOKE USAGE ON SCHEMA ledger FROM ROLE_OF_SITE');
        await site.tells(/has no rights in the schema ledger/);
        await site.migrate();
        await site.becomesReady();
      }),
    storyTimeoutMs,
  );
});

const documentKey = newDocumentKey();

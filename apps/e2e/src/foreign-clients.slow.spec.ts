import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { type ContractSetup, setupTimeoutMs, sharedSetup } from './harness/contract-setup.ts';
import { gateSetup, type GateSetup } from './harness/gate-setup.ts';
import { peerSetup, type PeerSetup } from './harness/peer-setup.ts';
import { riskSetup, type RiskSetup } from './harness/risk-setup.ts';

/**
 * Clients that others generate from our documents, unchanged: they compile, write to the services, and what is read
 * back is what they sent. One Go module and one TypeScript program for all documents, so that each is built once.
 */

const hasGo = spawnSync('go', ['version']).status === 0;
if (!hasGo) process.emitWarning('SKIPPED: no go on the PATH, so no Go client of the OpenAPI documents is generated.');

const BUILD_WITHIN_MS = 900_000;
const RUN_WITHIN_MS = 60_000;
const root = join(import.meta.dirname, '../../..');
const sources = join(import.meta.dirname, 'foreign-clients');
const run = promisify(execFile);

/** Every document, by a name that is an identifier: `riskpartner`, `riskpartneradmin`. */
const documents = readdirSync(join(root, 'apps')).flatMap((app) =>
  ['openapi.json', 'admin-openapi.json']
    .map((file) => ({
      name: app.replaceAll('-', '') + file.replace(/-?openapi\.json/, ''),
      path: join(root, 'apps', app, file),
    }))
    .filter(({ path }) => existsSync(path)),
);

/** What every client sends, and has to read. */
const data = { total: 12.5, lines: ['a', { é: null }] };
const expected = (by: string) => ({
  [`${by}-record`]: { type: 'order', owner: 'Zoë', data },
  [`${by}-first`]: { type: 'unknown', owner: null, data },
  [`${by}-second`]: { type: 'unknown', owner: null, data: { a: 'b' } },
  bare: { type: 'unknown', owner: null, data: { value: 1_234_567.875 } },
  ping: true,
  asset: { id: `${by}-asset`, type: 'asset', data },
  case: { status: 'received', subject: `subj_${by}`, metadata: { colour: 'réd' } },
  // Cut to milliseconds, in UTC.
  risk: { title: `From ${by}`, impact: 3, nextReviewAt: '2031-02-03T02:05:06.123Z' },
});

let folder: string;
let postgres: readonly ThrowawayPostgres[] = [];
let gateway: ContractSetup;
let peer: PeerSetup;
let gate: GateSetup;
let risk: RiskSetup;
/** Addresses and keys, for all clients. */
let surfaces: string;
let riskKey: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-foreign-clients-'));
  postgres = [await throwawayPostgres(), await throwawayPostgres()];
  gateway = await sharedSetup();
  peer = await peerSetup();
  gate = await gateSetup({ postgres: postgres[0]! });
  risk = await riskSetup(postgres[1]!);
  riskKey = (await risk.newPerson(['owner'])).key;
  const network = await gateway.newNetwork();
  const at = {
    ingest: { url: gateway.gateway.public.origin, key: (await gateway.newKey(network)).rawKey },
    ingestAdmin: { url: gateway.gateway.admin.origin, key: gateway.adminToken },
    network,
    peer: { url: peer.peer.public.origin, key: peer.key },
    gate: { url: gate.gate.public.origin, key: gate.key },
    gateAdmin: { url: gate.gate.admin.origin, key: gate.adminToken },
    risk: { url: risk.processes[0]!.public.origin, key: riskKey },
  };
  surfaces = join(folder, 'surfaces.json');
  writeFileSync(surfaces, JSON.stringify(at));
}, 3 * setupTimeoutMs);

afterAll(async () => {
  await Promise.all([gateway, peer, gate, risk].map((setup) => setup?.stop()));
  await Promise.all(postgres.map((one) => one.stop()));
  rmSync(folder, { recursive: true, force: true });
}, setupTimeoutMs);

(hasGo ? describe : describe.skip)('clients in Go', () => {
  let program: string;

  beforeAll(async () => {
    const place = join(folder, 'go');
    cpSync(sources, place, { recursive: true });
    for (const { name, path } of documents) {
      mkdirSync(join(place, 'gen', name), { recursive: true });
      const output = join(place, 'gen', name, 'client.gen.go');
      const parameters = ['tool', 'oapi-codegen', '-generate', 'types,client', '-package', name, '-o', output, path];
      await run('go', parameters, { cwd: place, timeout: BUILD_WITHIN_MS });
    }
    program = join(folder, 'foreign-clients');
    await run('go', ['build', '-o', program, '.'], { cwd: place, timeout: BUILD_WITHIN_MS });
  }, BUILD_WITHIN_MS);

  it('made by oapi-codegen write what was set, and read it back', async () => {
    const { stdout } = await run(program, ['call', surfaces], { timeout: RUN_WITHIN_MS });
    expect(JSON.parse(stdout)).toMatchObject(expected('go'));
  });

  it('compile the schema of every component with two validators, and every pattern with RE2', async () => {
    const schemas = documents.map(({ name, path }) => ({ name, schema: componentsOf(path) }));
    const file = join(folder, 'schemas.json');
    writeFileSync(file, JSON.stringify(schemas));
    const { stdout } = await run(program, ['schemas', file], { timeout: RUN_WITHIN_MS });
    expect(stdout).toBe(`compiled ${documents.length}\n`);
  });

  it('offer every tool of the risk partner again in a gateway made with the official SDK', async () => {
    const url = `${risk.processes[0]!.public.origin}/mcp`;
    const { stdout } = await run(program, ['gateway', url, riskKey], { timeout: RUN_WITHIN_MS });
    const said = JSON.parse(stdout) as { offered: number; listed: number };
    expect(said).toMatchObject({ isError: false, risks: { contractVersion: 'svc.partner.v1' } });
    expect(said.offered).toBeGreaterThan(5);
    expect(said.listed).toBe(said.offered);
  });
});

/** All schemas of a document as one JSON schema. */
function componentsOf(path: string): unknown {
  const { components } = JSON.parse(readFileSync(path, 'utf8')) as { components: { schemas: object } };
  const text = JSON.stringify(components.schemas).replaceAll('"#/components/schemas/', '"#/$defs/');
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', $defs: JSON.parse(text) as unknown };
}

describe('clients in TypeScript', () => {
  beforeAll(async () => {
    const place = join(folder, 'typescript');
    mkdirSync(place, { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
    cpSync(join(sources, 'generate-typescript.mjs'), join(place, 'generate.mjs'));
    const named = documents.map(({ name, path }) => `${name}=${path}`);
    await run(process.execPath, [join(place, 'generate.mjs'), place, ...named], {
      cwd: place,
      timeout: BUILD_WITHIN_MS,
    });
    writeFileSync(join(place, 'package.json'), '{"type": "module"}');
    writeFileSync(join(place, 'program.ts'), PROGRAM);
    const compilerOptions = {
      module: 'esnext',
      moduleResolution: 'bundler',
      target: 'es2022',
      outDir: 'out',
      strict: true,
      lib: ['es2022', 'dom', 'dom.iterable'],
      types: ['node'],
      skipLibCheck: true,
    };
    const include = ['program.ts', 'types', 'hey'];
    writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', place], { cwd: place, timeout: BUILD_WITHIN_MS }).catch(
      (error: { stdout: string }) => {
        throw new Error(error.stdout);
      },
    );
  }, BUILD_WITHIN_MS);

  it.each(['fetch', 'hey'])(
    'made by openapi-typescript or hey-api write what was set, and read it back: %s',
    async (by) => {
      const program = join(folder, 'typescript/out/program.js');
      const parameters = [program, by, surfaces];
      const { stdout } = await run(process.execPath, parameters, {
        cwd: join(folder, 'typescript'),
        timeout: RUN_WITHIN_MS,
      });
      expect(JSON.parse(stdout)).toMatchObject(expected(by));
    },
  );
});

/** A program that calls the services with the types of openapi-typescript (`fetch`) or with the clients of hey-api. */
const PROGRAM = `
import { readFileSync } from 'node:fs';
import createClient from 'openapi-fetch';
import * as gateAdmin from './hey/casegateadmin/index.js';
import { createClient as heyClient } from './hey/casegate/client/index.js';
import * as gate from './hey/casegate/index.js';
import * as ingestAdmin from './hey/ingestgatewayadmin/index.js';
import * as ingest from './hey/ingestgateway/index.js';
import * as peer from './hey/ledgerpeer/index.js';
import * as risk from './hey/riskpartner/index.js';
import type { components as gateSchemas, paths as gatePaths } from './types/casegate.js';
import type { paths as gateAdminPaths } from './types/casegateadmin.js';
import type { components as ingestSchemas, paths as ingestPaths } from './types/ingestgateway.js';
import type { paths as ingestAdminPaths } from './types/ingestgatewayadmin.js';
import type { components as peerSchemas, paths as peerPaths } from './types/ledgerpeer.js';
import type { components as riskSchemas, paths as riskPaths } from './types/riskpartner.js';

const [by = '', file = ''] = process.argv.slice(2);
interface Listener { url: string; key: string }
type Name = 'ingest' | 'ingestAdmin' | 'peer' | 'gate' | 'gateAdmin' | 'risk';
const at = JSON.parse(readFileSync(file, 'utf8')) as Record<Name, Listener> & { network: string };
const headersOf = (name: Name) =>
  name === 'ingest' || name === 'peer' ? { 'X-Api-Key': at[name].key } : { Authorization: 'Bearer ' + at[name].key };
const options = (name: Name) => ({ baseUrl: at[name].url, headers: headersOf(name) });

// What the issued types allow without a cast.
const data = { total: 12.5, lines: ['a', { é: null }] };
const record: ingestSchemas['schemas']['IngestRecord'] = { id: by + '-record', type: 'order', owner: 'Zoë', data };
const batch: ingestSchemas['schemas']['IngestBatch'] = { assets: [{ id: by + '-first', data }, { id: by + '-second', a: 'b' }] };
const bodies: ingestSchemas['schemas']['IngestRequest'][] = [record, batch, 1234567.875];
const asset: peerSchemas['schemas']['Asset'] = { id: by + '-asset', type: 'asset', data };
const newCase: gateSchemas['schemas']['CreateCaseRequest'] = { subject_ref: 'subj_' + by, venue_ids: ['hall'], metadata: { colour: 'réd' } };
const newRisk: riskSchemas['schemas']['NewRisk'] = {
  title: 'From ' + by, category: 'legal', inherent: { likelihood: 2, impact: 3 }, nextReviewAt: '2031-02-03t04:05:06.123456789+02:00',
};

function found<Value>({ data, error }: { data?: Value | undefined; error?: unknown }): Value {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

async function withFetch(): Promise<unknown> {
  const read: Record<string, unknown> = {};
  const gateway = createClient<ingestPaths>(options('ingest'));
  const admin = createClient<ingestAdminPaths>(options('ingestAdmin'));
  const path = { networkId: at.network };
  for (const body of bodies) {
    const answer = found(await gateway.POST('/{networkId}', { params: { path }, body }));
    if (!('records' in answer)) throw new Error('no records');
    for (const { channel, id } of answer.records) {
      const stored = found(await admin.GET('/admin/v1/ledger/channels/{channel}/records/{recordId}', { params: { path: { channel, recordId: id } } }));
      read[typeof body === 'number' ? 'bare' : id] = { type: stored.type, owner: stored.owner, data: stored.data };
    }
  }
  const pong = found(await gateway.POST('/{networkId}', { params: { path }, body: { type: 'ping' } }));
  read['ping'] = 'ping' in pong && pong.ping;
  const ledger = createClient<peerPaths>(options('peer'));
  found(await ledger.POST('/api/assets', { body: { assets: [asset] } }));
  read['asset'] = found(await ledger.GET('/api/assets/{id}', { params: { path: { id: asset.id }, query: { type: 'asset' } } }));
  const cases = createClient<gatePaths>(options('gate'));
  const { case_id } = found(await cases.POST('/v1/cases', { params: { header: { 'Idempotency-Key': by } }, body: newCase }));
  const status = found(await cases.GET('/v1/cases/{case_id}', { params: { path: { case_id } } }));
  const caseAdmin = createClient<gateAdminPaths>(options('gateAdmin'));
  const detail = found(await caseAdmin.GET('/admin/v1/cases/{case_id}', { params: { path: { case_id } } }));
  read['case'] = { status: status.status, subject: status.subject_ref, metadata: detail.metadata };
  const partner = createClient<riskPaths>(options('risk'));
  const { id } = found(await partner.POST('/api/risks', { body: newRisk }));
  const { title, inherent, nextReviewAt } = found(await partner.GET('/api/risks/{id}', { params: { path: { id } } }));
  read['risk'] = { title, impact: inherent.impact, nextReviewAt };
  return read;
}

async function withHey(): Promise<unknown> {
  const read: Record<string, unknown> = {};
  const clientOf = (name: Name) => heyClient(options(name)) as never;
  const path = { networkId: at.network };
  for (const body of bodies) {
    const answer = found(await ingest.ingest({ client: clientOf('ingest'), path, body }));
    if (!('records' in answer)) throw new Error('no records');
    for (const { channel, id } of answer.records) {
      const stored = found(await ingestAdmin.getRecord({ client: clientOf('ingestAdmin'), path: { channel, recordId: id } }));
      read[typeof body === 'number' ? 'bare' : id] = { type: stored.type, owner: stored.owner, data: stored.data };
    }
  }
  const pong = found(await ingest.ingest({ client: clientOf('ingest'), path, body: { type: 'ping' } }));
  read['ping'] = 'ping' in pong && pong.ping;
  found(await peer.syncAssets({ client: clientOf('peer'), body: { assets: [asset] } }));
  read['asset'] = found(await peer.readAsset({ client: clientOf('peer'), path: { id: asset.id }, query: { type: 'asset' } }));
  const headers = { 'Idempotency-Key': by };
  const { case_id } = found(await gate.createCase({ client: clientOf('gate'), headers, body: newCase }));
  const status = found(await gate.readCase({ client: clientOf('gate'), path: { case_id } }));
  const detail = found(await gateAdmin.getCase({ client: clientOf('gateAdmin'), path: { case_id } }));
  read['case'] = { status: status.status, subject: status.subject_ref, metadata: detail.metadata };
  const { id } = found(await risk.dashboardCreateRisks({ client: clientOf('risk'), body: newRisk }));
  const { title, inherent, nextReviewAt } = found(await risk.dashboardGetRisks({ client: clientOf('risk'), path: { id } }));
  read['risk'] = { title, impact: inherent.impact, nextReviewAt };
  return read;
}

console.log(JSON.stringify(by === 'hey' ? await withHey() : await withFetch()));
`;

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executeSql } from '@sealgate/testing';
import { migratedPostgres } from '../../harness/bundle.ts';
import type { Asked, Line } from '../history.ts';
import { judge } from './judge.ts';
import { asked } from './testing/lines.ts';

const setupTimeoutMs = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'sealgate-judge-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('operators, by the rows of the gateway', () => {
  let gateway: Awaited<ReturnType<typeof migratedPostgres>>;
  const adding = (networkId: string, members: Partial<Asked> = {}): Asked =>
    asked({ surface: 'console', act: 'add-network', as: 'ada', sent: { networkId }, text: '{}', ...members });
  const unavailable = { status: 503, text: '{"code":"UNAVAILABLE"}' };
  const exists = { status: 409, text: '{"code":"ALREADY_EXISTS"}' };
  const known: Line = { is: 'known', verifierKeys: [], subscriptions: [], issuer: 'http://p' };
  const broken = async (...lines: Line[]) => {
    const historyFile = join(folder, 'history.ndjson');
    writeFileSync(historyFile, [known, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
    const verdicts = await judge({ historyFile, databases: { 'ingest-gateway': gateway.url } });
    return verdicts.find(({ promise }) => promise.startsWith('every change by an operator'))!.broken;
  };
  const audited = (id: string, actor: string, networkId: string): string =>
    `INSERT INTO ingest.audit_events (id, at, actor, action, resource, resource_id)
       VALUES ('${id}', now(), '${actor}', 'network.create', 'network', '${networkId}')`;

  beforeAll(async () => {
    gateway = await migratedPostgres('ingest-gateway');
    await executeSql(gateway.url, `INSERT INTO ingest.networks (network_id, channels) VALUES ('op-1', '{main}')`);
    await executeSql(gateway.url, audited('a1', 'oidc:http://p#ada', 'op-1'));
  }, setupTimeoutMs);
  afterAll(() => gateway.stop());

  it('keeps what was made at once, or by an attempt that nobody knew of', async () => {
    expect(await broken(adding('op-1', { status: 201 }))).toEqual([]);
    expect(await broken(adding('op-1', unavailable), adding('op-1'), adding('op-1', exists))).toEqual([]);
  });

  it('breaks it by what is not there, twice, by nobody, or there in spite of what was told', async () => {
    const made = adding('op-1', { status: 201 });
    expect(await broken(made, adding('op-2', { status: 201 }))).toEqual([
      'line 3: op-2 was acknowledged and is not there',
    ]);
    expect(await broken(made, made)).toEqual(['line 3: op-1 was made a second time']);
    expect(await broken()).toEqual(['op-1 is there, and no operator added it']);
    expect(await broken(adding('op-1', unavailable))).toEqual(['line 2: op-1 was told to be not made, and is there']);
    expect(await broken(made, adding('op-3', exists))).toContain(
      'line 3: op-3 was told to be there, and no attempt can have made it',
    );
  });

  it('breaks it by an audit trail that names another, or tells of it twice', async () => {
    expect(await broken(adding('op-1', { status: 201, as: 'ben' }))).toEqual([
      'line 2: op-1 was made by oidc:http://p#ben, and is in the audit trail as by oidc:http://p#ada',
    ]);
    await executeSql(gateway.url, audited('a2', 'oidc:http://p#ada', 'op-1'));
    expect(await broken(adding('op-1', { status: 201 }))).toEqual(['line 2: op-1 has 2 audit events']);
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { executeSql } from '@sealgate/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migratedPostgres } from '../../harness/bundle.ts';
import type { Asked, Line } from '../history.ts';
import { judge } from './judge.ts';
import { asked } from './testing/lines.ts';

type Server = Awaited<ReturnType<typeof migratedPostgres>>;

const setupTimeoutMs = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'sealgate-judge-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the judge says is broken, by the beginning of the promise. */
async function brokenIn(
  databases: Record<string, string>,
  promise: string,
  lines: readonly Line[],
): Promise<readonly string[]> {
  const historyFile = join(folder, 'history.ndjson');
  writeFileSync(historyFile, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const verdicts = await judge({ historyFile, databases });
  return verdicts.find((verdict) => verdict.promise.startsWith(promise))!.broken;
}

/** A row of a ledger, at the end of its channel. */
const record = (
  channel: string,
  index: number,
  { id, type, data }: { id: string; type: string; data: string },
): string =>
  `INSERT INTO ledger.channels (channel, network) VALUES ('${channel}', '${channel.split('.')[0]}') ON CONFLICT DO NOTHING;
   INSERT INTO ledger.records (channel_id, idx, id, type, data, salt, leaf_hash, transaction_id, at_ms)
   SELECT channel_id, ${index}, '${id}', '${type}', '${data}', '\\x00', '\\x00', '\\x0${index}', 0
     FROM ledger.channels WHERE channel = '${channel}'`;

describe('the gate, by its rows', () => {
  let postgres: Server;
  const about = (act: string, text: object, members: Partial<Asked> = {}): Asked =>
    asked({
      surface: 'case-gate',
      as: 'live',
      act,
      status: 200,
      text: JSON.stringify(text),
      sent: { subject: 'subj_1' },
      ...members,
    });
  const opened = about('open-case', { case_id: 'case_1' }, { key: 'o' });
  const decided = about('decide', { decision_id: 'dec_1' });
  const sealed = about('seal', { ledger_record_id: 'ledger_rec_1' }, { key: 'case_1:p1' });
  const lines = [opened, decided, sealed, about('revoke', {})];
  const broken = (...all: Line[]) => brokenIn({ 'case-gate': postgres.url }, 'every acknowledged case', all);

  beforeAll(async () => {
    postgres = await migratedPostgres('case-gate');
    await executeSql(
      postgres.url,
      `INSERT INTO gate.cases (case_id, environment, subject_ref, case_type, status, venue_ids, metadata, created_at, updated_at,
                               expires_at, mac)
         VALUES ('case_1', 'live', 'subj_1', 'onboarding', 'sealed', '{}', '{}', now(), now(), now(), '');
       INSERT INTO gate.decisions (decision_id, case_id, policy_version, is_final, decision, reason_codes, decided_at, decided_by, mac)
         VALUES ('dec_1', 'case_1', 'p1', true, 'approve', '{}', now(), '', '');
       INSERT INTO gate.seals (case_id, policy_version, decision_id, ledger_record_id, document, seal_hash, seal_version, status, created_at)
         VALUES ('case_1', 'p1', 'dec_1', 'ledger_rec_1', '{"v":1}', '', 1, 'sealed', now());
       INSERT INTO gate.eligibility (environment, subject_ref, record_version, status, document, changed_at, mac)
         VALUES ('live', 'subj_1', 1, 'revoked', '{}', now(), '')`,
    );
    await executeSql(postgres.url, record('gate.seals', 0, { id: 'ledger_rec_1', type: 'case.seal', data: '{"v":1}' }));
  }, setupTimeoutMs);
  afterAll(() => postgres.stop());

  it('keeps what was acknowledged', async () => {
    expect(await broken(...lines)).toEqual([]);
  });

  it('breaks it by a case, a decision, a seal or a revocation that is not there', async () => {
    expect(await broken(about('open-case', { case_id: 'case_2' }))).toEqual([
      'line 1: case_2 was acknowledged and is not there',
    ]);
    expect(await broken({ ...opened, as: 'test' })).toEqual(['line 1: case_1 is not of test and subj_1']);
    expect(await broken(about('decide', { decision_id: 'dec_2' }))).toHaveLength(1);
    expect(await broken({ ...sealed, key: 'case_1:p2' })).toHaveLength(1);
    expect(await broken(about('seal', { ledger_record_id: 'ledger_rec_2' }, { key: 'case_1:p1' }))).toHaveLength(1);
    expect(await broken(about('revoke', {}, { sent: { subject: 'subj_2' } }))).toEqual([
      'line 1: the revocation of live subj_2 was answered and is not there',
    ]);
  });

  it.each([
    [
      'a seal that is not complete',
      `UPDATE gate.seals SET status = 'pending'`,
      `UPDATE gate.seals SET status = 'sealed'`,
    ],
    ['another document', `UPDATE gate.seals SET document = '{}'`, `UPDATE gate.seals SET document = '{"v":1}'`],
    ['a seal without a record', `UPDATE ledger.records SET type = 'x'`, `UPDATE ledger.records SET type = 'case.seal'`],
    ['a case that waits', `UPDATE gate.cases SET status = 'sealing'`, `UPDATE gate.cases SET status = 'sealed'`],
    [
      'a record that waits',
      `INSERT INTO gate.outbox (record_id, record_type, data, next_attempt_at) VALUES ('a', 'b', '{}', now())`,
      'DELETE FROM gate.outbox',
    ],
    [
      'two cases under one key',
      `INSERT INTO gate.cases SELECT 'case_9', environment, subject_ref, case_type, status, venue_ids, external_ref, requested_policy_version,
         metadata, attachment_count, policy_version, decision, decision_id, ledger_record_id, decided_at, sealed_at, created_at, updated_at,
         expires_at, mac, folded FROM gate.cases`,
      `DELETE FROM gate.cases WHERE case_id = 'case_9'`,
    ],
    [
      'two records of a seal',
      record('gate.seals', 1, { id: 'ledger_rec_1', type: 'case.seal', data: '{"v":1}' }),
      'DELETE FROM ledger.records WHERE idx = 1',
    ],
    [
      'a seal that nobody made',
      record('gate.seals', 1, { id: 'ledger_rec_2', type: 'case.seal', data: '{"v":1}' }),
      'DELETE FROM ledger.records WHERE idx = 1',
    ],
  ])('breaks it by %s', async (_what, defect, undo) => {
    await executeSql(postgres.url, defect);
    const found = await broken(...lines);
    await executeSql(postgres.url, undo);
    expect(found).toHaveLength(1);
  });

  it('breaks the log of checks by what is missing, there twice, or told otherwise', async () => {
    const insert = (seq: number, decision: string): string =>
      `INSERT INTO gate.gate_decisions (decision_id, process, seq, environment, key_id, request_id, action, decision, reason_code,
         fail_closed, evaluated_at) VALUES ('gd_a_b_${seq}', 'a_b', ${seq}, 'live', '', '', 'enter', '${decision}', '', false, now())`;
    await executeSql(postgres.url, [insert(1, 'allow'), insert(2, 'deny'), insert(4, 'deny')].join(';'));
    const check = (seq: number, decision: string) => about('check', { decision_id: `gd_a_b_${seq}`, decision });
    const logged = (...all: Line[]) => brokenIn({ 'case-gate': postgres.url }, 'every decided check', all);
    const gap = 'the decision 3 of a_b is not in the log';
    expect(await logged(check(1, 'allow'), check(2, 'deny'))).toEqual([gap]);
    expect(await logged(check(1, 'deny'))).toEqual([
      'the decision 1 of a_b is allow in the log, and another was told',
      gap,
    ]);
    expect(await logged(check(2, 'deny'), check(2, 'deny'))).toEqual([
      'line 2: the decision gd_a_b_2 was told twice',
      gap,
    ]);
    const lost = await logged(check(5, 'deny'));
    expect(lost).toEqual([gap, '1 processes of the gate lost the end of their log, and 0 were killed']);
    const kill: Line = {
      is: 'fault',
      name: 'process-killed',
      hit: 'case-gate/0',
      startedMs: 0,
      healedMs: 1,
      did: { kills: 1 },
    };
    expect(await logged(check(5, 'deny'), kill)).toEqual([gap]);
  });
});

describe('the risk partner, by its rows', () => {
  let postgres: Server;
  const as = 'org_a/per_1';
  const told = (act: string, id: string, members: Partial<Asked> = {}): Asked =>
    asked({ surface: 'risk-partner', as, act, status: 200, text: JSON.stringify({ id }), ...members });
  beforeAll(async () => {
    postgres = await migratedPostgres('risk-partner');
    const evidence = (org: string, id: string, sensitive: boolean) =>
      `('${org}', 'evidence', '${id}', 1, ${sensitive}, now(), now(), '{}', '', '', '{}', '{}', '{}')`;
    await executeSql(
      postgres.url,
      `INSERT INTO risk.orgs (org_id, name, created_at, revised_at) VALUES ('org_a', '', now(), now()), ('org_b', '', now(), now());
       INSERT INTO risk.people (person_id, org_id, name, kind, roles, unrestricted, created_at)
         VALUES ('per_1', 'org_a', '', 'machine', '{partner_read}', true, now());
       INSERT INTO risk.resources (org_id, kind, id, n, sensitive, created_at, updated_at, facets, folded, title, counted, doc, item)
         VALUES ${evidence('org_a', 'evd_1', false)}, ${evidence('org_a', 'evd_2', true)}, ${evidence('org_b', 'evd_3', false)};
       INSERT INTO risk.anchors (ledger_record_id, org_id, evidence_id, sha256, data, state, due_at, created_at)
         VALUES ('ledger_rec_1', 'org_a', 'evd_1', '', '{"a":1}', 'proved', now(), now())`,
    );
    await executeSql(postgres.url, record('risk.main', 0, { id: 'ledger_rec_1', type: 'evidence', data: '{"a":1}' }));
  }, setupTimeoutMs);
  afterAll(() => postgres.stop());
  const broken = (promise: string, ...lines: Line[]) => brokenIn({ 'risk-partner': postgres.url }, promise, lines);

  it('keeps what was created and approved, and breaks it by what is missing', async () => {
    const promise = 'every acknowledged risk';
    expect(await broken(promise, told('create', 'evd_1'), told('approve', 'evd_1'))).toEqual([]);
    expect(await broken(promise, told('create', 'evd_9'))).toEqual(['line 1: evd_9 was acknowledged and is not there']);
    expect(await broken(promise, told('approve', 'evd_2'))).toEqual(['line 1: the approval of evd_2 has no anchor']);
    for (const [defect, undo] of [
      [`UPDATE risk.anchors SET state = 'waiting'`, `UPDATE risk.anchors SET state = 'proved'`],
      [`UPDATE risk.anchors SET data = '{}'`, `UPDATE risk.anchors SET data = '{"a":1}'`],
      [`UPDATE ledger.records SET type = 'x'`, `UPDATE ledger.records SET type = 'evidence'`],
    ] as const) {
      await executeSql(postgres.url, defect);
      const found = await broken(promise);
      await executeSql(postgres.url, undo);
      expect(found).toHaveLength(1);
    }
  });

  it("breaks the promise of rows by another organisation's, and by one that the filter of its caller hides", async () => {
    expect(await broken('nobody saw', told('read', 'evd_1'))).toEqual([]);
    expect(await broken('nobody saw', told('read', 'evd_2'))).toEqual(['line 1: org_a/per_1 was shown evd_2']);
    expect(await broken('nobody saw', told('read', 'evd_3'))).toEqual(['line 1: org_a/per_1 was shown evd_3']);
    expect(await broken('nobody saw', told('read', 'evd_3', { status: 404 }))).toEqual([]);
    expect(await broken('nobody saw', told('foreign', 'x'))).toHaveLength(1);
  });
});

describe('the gateway and the ledger peer, by their rows', () => {
  let gateway: Server;
  let peer: Server;
  beforeAll(async () => {
    gateway = await migratedPostgres('ingest-gateway');
    await executeSql(gateway.url, record('acme.main', 0, { id: 'a', type: 't', data: '{}' }));
    await executeSql(gateway.url, record('acme.main', 1, { id: 'b', type: 't', data: '{}' }));
    await executeSql(
      gateway.url,
      `INSERT INTO ingest.writes (event_id, first_index, record_count, stripped_fields, network_id, channel_name, key_id, request_id, types)
         VALUES ('00000000-0000-0000-0000-00000000000a', 0, 1, 0, 'acme', 'main', 'k', 'r', '[]');
       INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, channel, first_index, record_count, indexes, request_id,
                                  stripped_fields, at)
         VALUES ('evt_b', 'acme', 'k', 'write', 'committed', '[]', 'acme.main', NULL, 1, '[1]', 'r', 0, now())`,
    );
    peer = await migratedPostgres('ledger-peer');
    await executeSql(
      peer.url,
      `INSERT INTO peer.jobs (job_id, family_id, promised, status, created_at)
         VALUES ('job_1', 'f', true, 'done', now()), ('job_2', 'f', false, 'running', now())`,
    );
  }, setupTimeoutMs);
  afterAll(() => Promise.all([gateway.stop(), peer.stop()]));

  const wrote = (eventId: string): Asked =>
    asked({ key: eventId, status: 200, text: JSON.stringify({ eventId, records: [{ index: 0 }] }) });
  const broken = (...lines: Line[]) =>
    brokenIn({ 'ingest-gateway': gateway.url }, 'every record of the gateway', lines);

  it('keeps an event for each record, and breaks it by one that is missing or points nowhere', async () => {
    const lines = [wrote(`evt_${'0'.repeat(31)}a`), wrote('evt_b')];
    expect(await broken(...lines)).toEqual([]);
    expect(await broken(...lines, wrote('evt_c'))).toEqual(['line 3: its event evt_c is not there']);
    await executeSql(gateway.url, `UPDATE ingest.events SET indexes = '[2]', status = 'unknown'`);
    expect(await broken(...lines)).toEqual([
      'line 2: its event evt_b is still unknown',
      'evt_b names acme.main/2, which is not there',
      'acme.main/1 has no event',
    ]);
  });

  it('breaks a promised job that is not done', async () => {
    const promised = (jobId: string): Asked => asked({ act: 'sync', status: 202, text: JSON.stringify({ jobId }) });
    const jobs = (...lines: Line[]) => brokenIn({ 'ledger-peer': peer.url }, 'every promised job', lines);
    expect(await jobs(promised('job_1'))).toEqual([]);
    expect(await jobs(promised('job_2'))).toEqual(['line 1: the job job_2 is not there']);
    await executeSql(peer.url, `UPDATE peer.jobs SET status = 'queued'`);
    expect(await jobs(promised('job_1'))).toEqual(['line 1: the job job_1 is queued']);
  });
});

describe('the judge', () => {
  it('judges a history without databases by its answers alone', async () => {
    const records = [{ id: 'a', channel: 'acme.main', index: 0, transactionId: 'b', leafHash: 'c' }];
    const text = JSON.stringify({ eventId: 'evt_1', records });
    const write = asked({ key: 'k', sent: { body: '{}' }, status: 200, text });
    const known: Line = {
      ...{ is: 'known', verifierKeys: [] },
      subscriptions: [{ subscription: 's', channel: 'acme.main', secret: 'whsec_', from: 0 }],
    };
    const historyFile = join(folder, 'answers.ndjson');
    const judged = async (...lines: Line[]) => {
      writeFileSync(historyFile, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      return (await judge({ historyFile, databases: {} })).filter(({ broken }) => broken.length > 0);
    };
    expect(await judged(known, write)).toEqual([]);
    expect(await judged(known, { ...write, endedMs: 5_000 }, { ...write, endedMs: 65_000 })).toEqual([
      expect.objectContaining({ promise: 'every key has one answer', firstLine: 3, afterSeconds: 60 }),
    ]);
  });

  it('refuses a history or a database that it cannot read', async () => {
    await expect(judge({ historyFile: join(folder, 'none'), databases: {} })).rejects.toThrow('ENOENT');
    await expect(brokenIn({ 'case-gate': 'postgres://127.0.0.1:1/none' }, 'every', [])).rejects.toThrow();
  });
});

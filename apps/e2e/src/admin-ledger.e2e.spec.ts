import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectProblem, until } from '@sealgate/testing';
import { ledgerSize, listAll, type Members } from './harness/admin-client.ts';
import { expectCommonHeaders, expectWritten } from './harness/answers.ts';
import { contractSetup, setupTimeoutMs, type ContractSetup } from './harness/contract-setup.ts';
import { ledgerOrigin } from './harness/surface-setup.ts';
import { sender, type Sender } from './harness/sender.ts';
import { judgeLog, verify } from './harness/verifier.ts';

describe('The ledger in the admin API', () => {
  let setup: ContractSetup;
  let networkId: string;
  let channel: string;
  let from: Sender;
  beforeAll(async () => {
    setup = await contractSetup();
  }, setupTimeoutMs);
  beforeEach(async () => {
    networkId = await setup.newNetwork({ channels: ['main', 'other'] });
    channel = `${networkId}.main`;
    from = sender(setup.gateway.public, networkId, (await setup.newKey(networkId)).rawKey);
  });
  afterAll(() => setup.stop());

  const path = (rest: string, of = channel): string => `/ledger/channels/${of}${rest}`;

  it('lists channels with their number of records', async () => {
    expectWritten(await from.post({ assets: [1, 2, 3] }));
    const rows = await listAll(setup.admin, '/ledger/channels', 2);
    expect(rows).toContainEqual(expect.objectContaining({ channel, size: 3 }));
    const nothing = { size: 0, signed: 0, signedUntil: null, unsignedSince: null, archived: 0 };
    expect(rows).toContainEqual({ channel: `${networkId}.other`, ...nothing });
    const names = rows.map((row) => String(row['channel']));
    expect(names).toEqual(names.toSorted());
  });

  it('shows the signed size of a channel, its newest records first, and its signing key', async () => {
    const ids = ['one', 'two', 'three'];
    for (const id of ids) expectWritten(await from.post({ id, type: 't', data: { n: 1 }, owner: 'o' }));
    await until(async () => (await setup.admin.ask('GET', path('')))['signed'] === 3, { timeoutMs: 1_500 });
    const rows = await listAll(setup.admin, path('/records'), 2);
    expect(rows.map((row) => [row['id'], row['position'], row['owner']])).toEqual([
      ['three', 2, 'o'],
      ['two', 1, 'o'],
      ['one', 0, 'o'],
    ]);
    const record = await setup.admin.ask('GET', path('/records/three'));
    expect(await setup.admin.ask('GET', path(''))).toEqual({
      channel,
      size: 3,
      signed: 3,
      signedUntil: record['at'],
      unsignedSince: null,
      archived: 0,
    });
    const { logs } = (await setup.admin.ask('GET', path('/logs'))) as { logs: Members[] };
    const { text: checkpoint } = await setup.admin.get(path('/checkpoint'));
    const origin = `${ledgerOrigin}/${channel}`;
    expect(logs).toEqual([{ epoch: 0, origin, checkpoint, published: checkpoint, declaration: null }]);
    const { keys } = (await setup.admin.ask('GET', '/ledger/keys')) as { keys: Members[] };
    expect(keys.map((key) => key['verifierKey'])).toContain(setup.verifierKey);
    expect(await setup.admin.ask('GET', '/whoami')).toMatchObject({ role: 'operator', via: 'static' });
    const { items } = (await setup.admin.ask('GET', '/waiting')) as { items: Members[] };
    expect(items).toMatchObject([{ what: 'unsigned_records', count: 0, oldestAt: null }]);
  });

  it('signs a checkpoint within a second, against which a sender can verify its receipt', async () => {
    const answer = await from.post({
      id: 'proved',
      type: 't',
      data: { a: 1, cvv: 'gone' },
      owner: 'o',
      note: 'beside',
    });
    expectWritten(answer);
    let text = '';
    await until(
      async () =>
        ({ text } = await setup.admin.get(path('/checkpoint'))).text.startsWith(`${ledgerOrigin}/${channel}\n1\n`),
      {
        timeoutMs: 1_500,
      },
    );
    const note = await setup.admin.get(path('/checkpoint'));
    expect(note.headers['content-type']).toBe('text/plain; charset=utf-8');
    expectCommonHeaders(note);
    const proof = await setup.admin.get(path('/records/proved/proof'));
    const files = { 'answer.json': answer.text, 'proof.json': proof.text, checkpoint: text, 'sent.json': '{"a":1}' };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(setup.folder, name), content);
    const key = ['--key', setup.verifierKey];
    const judged = [
      await verify(setup.folder, 'answer', 'answer.json', 'proof.json', ...key),
      await verify(setup.folder, 'receipt', 'proof.json', '--data', 'sent.json', ...key),
      await verify(setup.folder, 'checkpoint', 'checkpoint', '--channel', channel, ...key),
    ];
    for (const { exitCode, text: report } of judged) expect({ exitCode, report }).toMatchObject({ exitCode: 0 });
    writeFileSync(join(setup.folder, 'sent.json'), '{"a":2}');
    expect((await verify(setup.folder, 'receipt', 'proof.json', '--data', 'sent.json', ...key)).exitCode).toBe(1);
  });

  it('proves every record of a log that has grown, and the whole log', async () => {
    const answers: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const assets = Array.from({ length: 50 }, (_, n) => ({ id: `r${round}-${n}`, n }));
      const answer = await from.post({ assets });
      expectWritten(answer);
      answers.push(answer.text);
    }
    const { verifierKey, admin, folder, checkpointFolders } = setup;
    const story = { admin, folder, channel, verifierKey, answers, savedFolders: checkpointFolders };
    expect(await judgeLog(story)).toBe(300);
    for (const id of ['r0-0', 'r2-17', 'r5-5', 'r5-6', 'r5-49']) {
      writeFileSync(join(folder, 'proof.json'), (await admin.get(path(`/records/${id}/proof`))).text);
      expect((await verify(folder, 'receipt', 'proof.json', '--key', verifierKey)).exitCode).toBe(0);
    }
    expect(await admin.ask('POST', path('/audit'))).toEqual({
      ok: true,
      size: 300,
      firstBadRecordId: null,
      problem: null,
    });
    await expect(judgeLog({ ...story, answers: answers.slice(1) })).rejects.toThrow('The verifier does not accept');
  });

  it('erases a record so that its proof stays valid and its id taken', async () => {
    expectWritten(await from.post({ id: 'a/b c', data: { personal: 'forget me' }, also: 'forget me' }));
    const record = path(`/records/${encodeURIComponent('a/b c')}`);
    const before = await setup.admin.ask('GET', `${record}/proof`);
    expectProblem(await setup.admin.send('POST', `${record}/erase`, {}), 'INVALID_REQUEST', {
      errors: [{ in: 'body', pointer: '/reason' }],
    });
    const erased = await setup.admin.send('POST', `${record}/erase`, { reason: 'asked for' });
    expect(erased.status).toBe(200);
    expect(erased.body).toMatchObject({ id: 'a/b c', data: null, extra: null, erased: true, index: 0 });
    expect((await setup.admin.get(record)).body).toEqual(erased.body);
    expect((await setup.admin.send('POST', `${record}/erase`, { reason: 'again' })).status).toBe(200);
    const after = await setup.admin.get(`${record}/proof`);
    expect(after.body).toMatchObject({ receipt: { ...(before['receipt'] as Members), salt: null, extra: null } });
    writeFileSync(join(setup.folder, 'erased.json'), after.text);
    expect((await verify(setup.folder, 'receipt', 'erased.json', '--key', setup.verifierKey)).exitCode).toBe(0);
    expectProblem(
      await from.post({ id: 'a/b c', data: { personal: 'forget me' }, also: 'forget me' }),
      'RECORD_CONFLICT',
    );
    expect(await setup.admin.ask('POST', path('/audit'), {})).toMatchObject({ ok: true, size: 1 });
    expectProblem(await setup.admin.send('POST', path('/records/never/erase'), { reason: 'x' }), 'NOT_FOUND');
  });

  it('archives records into self-verifying files, and keeps every answer', async () => {
    const batch = (first: number) => ({
      assets: Array.from({ length: 100 }, (_, n) => ({ id: `a${first + n}`, type: 't', data: { n: first + n } })),
    });
    const idempotencyKey = randomUUID();
    expectWritten(await from.post(batch(0), { idempotencyKey }));
    for (const first of [100, 200]) expectWritten(await from.post(batch(first)));
    // Records with a proof are covered by a checkpoint.
    await setup.admin.ask('GET', path('/records/a299/proof'));
    const before = await setup.admin.ask('GET', path('/records/a7/proof'));
    expectProblem(await setup.admin.send('POST', path('/archive'), {}), 'INVALID_REQUEST');
    expectProblem(await setup.admin.send('POST', path('/archive', 'no-such.channel'), { before: 1 }), 'NOT_FOUND');
    expect(await setup.admin.ask('POST', path('/archive'), { olderThanDays: 1 })).toMatchObject({
      archived: 0,
      until: 0,
    });
    expect(await setup.admin.ask('POST', path('/archive'), { before: 290 })).toEqual({
      channel,
      size: 300,
      archived: 256,
      until: 256,
    });
    expect(await setup.admin.ask('GET', path('/records/a7'))).toMatchObject({ id: 'a7', index: 7, data: { n: 7 } });
    const after = await setup.admin.ask('GET', path('/records/a7/proof'));
    expect(after['receipt']).toEqual(before['receipt']);
    const folder = join(setup.folder, 'archive', channel);
    const judged = await verify(setup.folder, 'log', folder, '--key', setup.verifierKey, '--channel', channel);
    expect(judged).toMatchObject({ exitCode: 0, text: expect.stringContaining('All 256 entries') });

    // Erased and sent again: the same request, the same record, other content.
    await setup.admin.ask('POST', path('/records/a7/erase'), { reason: 'asked for' });
    expect(await setup.admin.ask('GET', path('/records/a7'))).toMatchObject({ data: null, erased: true });
    const replay = expectWritten(await from.post(batch(0), { idempotencyKey }));
    expect(replay.records[8]).toMatchObject({ id: 'a8', index: 8 });
    expectWritten(await from.post({ id: 'a8', type: 't', data: { n: 8 } }));
    expectProblem(await from.post({ id: 'a8', type: 't', data: { n: 9 } }), 'RECORD_CONFLICT');
    expectProblem(await from.post({ id: 'a7', type: 't', data: { n: 7 } }), 'RECORD_CONFLICT');
    expect((await verify(setup.folder, 'log', folder, '--key', setup.verifierKey)).exitCode).toBe(0);
    expect(await setup.admin.ask('POST', path('/audit'), {})).toMatchObject({ ok: true, size: 300 });

    const [file] = readdirSync(join(folder, 'records'));
    const text = readFileSync(join(folder, 'records', file!), 'utf8');
    expect(text).not.toContain('"data":{"n":7}');
    writeFileSync(join(folder, 'records', file!), text.replace('"data":{"n":5}', '"data":{"n":6}'));
    expect(await setup.admin.ask('POST', path('/audit'), {})).toMatchObject({ ok: false, firstBadRecordId: 'a5' });
    expectProblem(await setup.admin.get(path('/records/a5')), 'RECORD_ARCHIVED');
    expect((await verify(setup.folder, 'log', folder, '--key', setup.verifierKey)).exitCode).toBe(1);
  });

  it('runs an audit in the background for a client that polls', async () => {
    expectWritten(await from.post({ id: 'one' }));
    const begun = await setup.admin.send('POST', path('/audits'));
    expect(begun).toMatchObject({ status: 202, body: { status: expect.stringMatching(/running|done/), size: 1 } });
    const { auditId } = begun.body as { auditId: string };
    await until(async () => (await setup.admin.ask('GET', path(`/audits/${auditId}`)))['status'] === 'done');
    expect(await setup.admin.ask('GET', path(`/audits/${auditId}`))).toMatchObject({
      walked: 1,
      report: { ok: true, size: 1, firstBadRecordId: null, problem: null },
    });
    expectProblem(await setup.admin.get(path('/audits/aud_never')), 'NOT_FOUND');
    expectProblem(await setup.admin.send('POST', path('/audits', 'no-such.channel')), 'NOT_FOUND');
  });

  it('reports what does not exist', async () => {
    for (const missing of ['/records/never', '/records/never/proof', '/checkpoint']) {
      expectProblem(await setup.admin.get(path(missing)), 'NOT_FOUND');
      expectProblem(await setup.admin.get(path(missing, 'no-such.channel')), 'NOT_FOUND');
      expectProblem(await setup.admin.get(path(missing, 'nonsense')), 'NOT_FOUND');
    }
    expectProblem(await setup.admin.send('POST', path('/audit', 'no-such.channel')), 'NOT_FOUND');
    expect(await setup.admin.ask('POST', path('/audit'))).toEqual({
      ok: true,
      size: 0,
      firstBadRecordId: null,
      problem: null,
    });
  });

  it('keeps an event of every write, and finds it again', async () => {
    const startedAt = new Date().toISOString();
    const how = { headers: { 'X-Request-Id': 'the-request' } };
    const body = {
      assets: [
        { id: 'x', type: 'one', targetChannels: ['other', 'main'] },
        { id: 'y', type: 'two', secret: 's3cret' },
      ],
    };
    const written = expectWritten(await from.post(body, how));
    const event = await setup.admin.ask('GET', `/events/${written.eventId}`);
    expect(event).toEqual({
      eventId: written.eventId,
      kind: 'write',
      networkId,
      keyId: expect.stringMatching(/^key_/),
      status: 'committed',
      types: expect.arrayContaining(['one', 'two']),
      records: expect.any(Array),
      transactionIds: expect.any(Array),
      requestId: 'the-request',
      strippedFields: 0,
      at: expect.stringMatching(/Z$/),
    });
    const entry = ({ id, channel: of, transactionId }: Members): Members => ({ id, channel: of, transactionId });
    const expected = written.records.map((record) => entry({ ...record }));
    expect(new Set((event['records'] as Members[]).map((record) => JSON.stringify(entry(record))))).toEqual(
      new Set(expected.map((record) => JSON.stringify(record))),
    );
    expect(new Set(event['transactionIds'] as string[])).toEqual(new Set(written.transactionIds));
    expect(JSON.stringify(event)).not.toContain('s3cret');

    const conflict = await from.post({ id: 'y', type: 'two', other: 1 });
    expectProblem(conflict, 'RECORD_CONFLICT');
    const later = expectWritten(await from.post({ id: 'z', type: 'two' }));
    const find = async (query: string): Promise<unknown[]> =>
      (await listAll(setup.admin, `/events?networkId=${networkId}${query}`, 1)).map(({ eventId }) => eventId);
    const rejected = await listAll(setup.admin, `/events?networkId=${networkId}&status=rejected`);
    expect(rejected).toMatchObject([{ status: 'rejected', records: [], transactionIds: [], types: ['two'] }]);
    const rejectedId = rejected[0]!['eventId'];
    expect(await find('')).toEqual([later.eventId, rejectedId, written.eventId]);
    expect(await find('&type=one')).toEqual([written.eventId]);
    expect(await find('&status=committed')).toEqual([later.eventId, written.eventId]);
    expect(await find('&status=unknown')).toEqual([]);
    expect(await find(`&from=${startedAt}`)).toHaveLength(3);
    expect(await find(`&to=${startedAt}`)).toEqual([]);
    expect(
      await find(`&from=${String(event['at'])}&to=${new Date(Date.parse(String(event['at'])) + 1).toISOString()}`),
    ).toContain(written.eventId);
    const nanoseconds = String(event['at']).replace('T', 't').replace('Z', '999999z');
    expect(await find(`&from=${nanoseconds}`)).toContain(written.eventId);
    expectProblem(await setup.admin.get('/events/evt_never'), 'NOT_FOUND');
    expectProblem(await setup.admin.get('/events?status=lost'), 'INVALID_REQUEST', {
      errors: [{ in: 'query', pointer: '/status' }],
    });
    expectProblem(await setup.admin.get('/events?from=yesterday'), 'INVALID_REQUEST', {
      errors: [{ in: 'query', pointer: '/from' }],
    });
    expect(await ledgerSize(setup.admin, channel)).toBe(3);
  });
});

import { afterAll, describe, expect, it } from '@jest/globals';
import { runLine, type Ran } from '../testing/run-line.ts';
import { problem, standInApi } from '../testing/stand-in-api.ts';

const RECORD = {
  id: 'order/7',
  network: 'acme',
  channel: 'acme.main',
  type: 'order',
  owner: null,
  data: { note: 'Zürich', lines: [1] },
  extra: null,
  index: 7,
  transactionId: 'tx1',
  at: '2030-01-02T03:04:05.678Z',
};

const api = await standInApi();
const { env } = api;
afterAll(() => api.close());

const run = (line: string): Promise<Ran> => runLine(line, { env });

describe('ledger', () => {
  it('lists channels', async () => {
    api.answer(() => ({ body: { items: [{ channel: 'acme.main', size: 12 }], nextCursor: null } }));
    expect((await run('ledger channels')).out).toBe('CHANNEL    RECORDS\nacme.main  12\n');
    expect(api.seen[0]?.path).toBe('/admin/v1/ledger/channels');
  });

  it('prints a checkpoint unchanged, because it is signed', async () => {
    const note = 'log.example/acme.main\n12\nAAAA=\n\n— log.example/ledger abc=\n';
    api.answer(() => ({ body: note }));
    expect(await run('ledger checkpoint acme.main')).toEqual({ code: 0, err: '', out: note });
    expect(api.seen[0]?.path).toBe('/admin/v1/ledger/channels/acme.main/checkpoint');
    expect(JSON.parse((await run('ledger checkpoint acme.main --json')).out)).toEqual({ checkpoint: note });
  });

  it('prints the statement of log keys unchanged', async () => {
    const note = 'sealgate-log-keys/v1\nlog.example/acme.main\nkey k from t\n\n— log.example abc=\n';
    api.answer(() => ({ body: note }));
    expect(await run('ledger key acme.main')).toEqual({ code: 0, err: '', out: note });
    expect(api.seen[0]?.path).toBe('/admin/v1/ledger/channels/acme.main/key');
    expect(JSON.parse((await run('ledger key acme.main --json')).out)).toEqual({ statement: note });
  });

  it('prints a record with its content in lines, and encodes its id as one segment', async () => {
    api.answer(() => ({ body: RECORD }));
    const { out } = await run('ledger record acme.main order/7');
    expect(api.seen[0]?.path).toBe('/admin/v1/ledger/channels/acme.main/records/order%2F7');
    expect(out).toContain(
      '\ndata\n  {\n    "note": "Zürich",\n    "lines": [\n      1\n    ]\n  }\nextra          -\n',
    );
    expect((await run('ledger record acme.main order/7 --json')).out).toBe(`${JSON.stringify(RECORD)}\n`);
  });

  it.each(['', ' --json'])('prints a proof unchanged%s', async (option) => {
    const text = '{"receipt":{"id":"order-7"},"proof":{"treeSize":12}}';
    api.answer(() => ({ body: text }));
    expect(await run(`ledger proof acme.main order-7${option}`)).toEqual({ code: 0, err: '', out: `${text}\n` });
    expect(api.seen[0]?.path).toBe('/admin/v1/ledger/channels/acme.main/records/order-7/proof');
  });

  it.each(['--format tlog-proof', '--tlog-proof'])(
    'prints a proof as a stand-alone file, unchanged: %s',
    async (option) => {
      const { data: _data, ...receipt } = { ...RECORD, dataHash: '1'.repeat(64), salt: '2'.repeat(64) };
      const note = 'log.example/acme.main\n8\nAAAA=\n\n— log.example abc=\n';
      const proof = { index: 7, inclusionPath: ['ab'.repeat(32)], checkpoint: note };
      api.answer(() => ({ body: JSON.stringify({ receipt, proof }) }));
      const { out } = await run(`ledger proof acme.main order-7 ${option}`);
      const entry =
        `{"at":"2030-01-02T03:04:05.678Z","channel":"acme.main","dataHash":"${'1'.repeat(64)}","id":"order/7",` +
        '"network":"acme","owner":null,"transactionId":"tx1","type":"order","v":1}';
      const path = Buffer.from('ab'.repeat(32), 'hex').toString('base64');
      const extra = Buffer.from(entry).toString('base64');
      expect(out).toBe(`c2sp.org/tlog-proof@v1\nextra ${extra}\nindex 7\n${path}\n\n${note}`);
    },
  );

  const auditOf = (more: object) => ({
    auditId: 'aud_1',
    channel: 'acme.main',
    status: 'running',
    walked: 0,
    size: 12,
    startedAt: '2030-01-02T03:04:05.678Z',
    endedAt: null,
    report: null,
    ...more,
  });
  const done = (report: object) => auditOf({ status: 'done', walked: 12, endedAt: '2030-01-02T03:04:06.678Z', report });
  const fine = { ok: true, size: 12, firstBadRecordId: null, problem: null };
  const path = '/admin/v1/ledger/channels/acme.main/audits';

  it('waits for an audit, and exits with 0 without findings', async () => {
    const answers = [auditOf({}), auditOf({ walked: 6 }), done(fine)];
    api.answer(() => ({ body: answers[Math.min(api.seen.length, 3) - 1]! }));
    expect(await run('ledger audit acme.main')).toEqual({
      code: 0,
      err: `Audit aud_1. Ctrl-C leaves it running; to wait for it again: sealgate ledger audit acme.main --id aud_1
0 of 12 records (0 %)
6 of 12 records (50 %)
`,
      out: `All records are intact.

ok                true
size              12
firstBadRecordId  -
problem           -
`,
    });
    expect(api.seen).toMatchObject([
      { method: 'POST', path, body: '{}' },
      { method: 'GET', path: `${path}/aud_1` },
      { method: 'GET', path: `${path}/aud_1` },
    ]);
  });

  it('can start an audit in the background, and query it again', async () => {
    api.answer(() => ({ body: auditOf({}) }));
    expect(await run('ledger audit acme.main --detach')).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('aud_1'),
    });
    expect(api.seen).toHaveLength(1);
    api.answer(() => ({ body: done(fine) }));
    expect(await run('ledger audit acme.main --id aud_1')).toMatchObject({ code: 0, err: '' });
    expect(api.seen).toMatchObject([{ method: 'GET', path: `${path}/aud_1` }]);
  });

  it.each([
    { ok: false, size: 12, firstBadRecordId: 'order-7', problem: 'The content does not hash to dataHash.' },
    { size: 12, firstBadRecordId: null, problem: null },
  ])('exits with 3 after any other result: %j', async (report) => {
    api.answer(() => ({ body: done(report) }));
    const { code, out } = await run('ledger audit acme.main');
    expect(code).toBe(3);
    expect(out).toMatch(/^NOT ALL RECORDS ARE INTACT\.\n/);
    const json = await run('ledger audit acme.main --json');
    expect(json).toEqual({ code: 3, err: '', out: `${JSON.stringify(report)}\n` });
  });

  it('treats an unfinished audit as no result', async () => {
    api.answer(() => ({ body: auditOf({ status: 'failed', endedAt: '2030-01-02T03:04:06.678Z' }) }));
    expect(await run('ledger audit acme.main')).toMatchObject({ code: 1, out: '' });
  });

  it('never treats a rejected audit as a result', async () => {
    api.answer(() => problem(503, 'LEDGER_UNAVAILABLE'));
    expect(await run('ledger audit acme.main')).toMatchObject({ code: 1, out: '' });
  });

  it('erases with a reason, after confirmation', async () => {
    const erased = { ...RECORD, data: null, erased: true };
    api.answer(() => ({ body: erased }));
    const line = "ledger erase acme.main order-7 --reason 'Request 12'";
    expect(await run(line)).toMatchObject({ code: 2, err: expect.stringContaining('use --yes') });
    expect(await runLine(line, { env, ask: async () => 'no' })).toMatchObject({ code: 2 });
    expect(api.seen).toEqual([]);
    const { code, out } = await run(`${line} --yes`);
    expect(code).toBe(0);
    expect(out).toMatch(/^The content is erased; the proofs of the record stay valid\.\n\n/);
    expect(out).toMatch(/\nerased +true\n$/);
    const [seen] = api.seen;
    expect(seen).toMatchObject({ method: 'POST', path: '/admin/v1/ledger/channels/acme.main/records/order-7/erase' });
    expect(JSON.parse(seen?.body ?? '')).toEqual({ reason: 'Request 12' });
  });

  it('requires a reason for an erasure', async () => {
    expect(await run('ledger erase acme.main order-7 --yes')).toMatchObject({ code: 2 });
  });

  const LOSS = {
    channel: 'acme.main',
    status: 'lost',
    problem: 'Channel acme.main: records 2 to 3 are missing.',
    lost: [
      { epoch: 0, lostFrom: 2, lostUntil: 4, checkpoint: 'older', surviving: null },
      { epoch: 1, lostFrom: 5, lostUntil: 5, checkpoint: 'kept', surviving: 'kept' },
    ],
    foundAt: '2030-01-02T04:00:00.000Z',
    sharedAt: '2030-01-02T03:00:00.000Z',
    epoch: 1,
    declaration: null,
  };
  const declaration = { epoch: 2, reason: 'Dump of Monday', actor: 'admin:01234567', at: '2030-01-02T05:00:00.000Z' };
  const lossPath = '/admin/v1/ledger/channels/acme.main/loss';
  const RECOVER = "ledger recover acme.main --reason 'Dump of Monday'";
  /** The responses of the API, in order. */
  const say = (...answers: object[]) =>
    api.answer(() => ({ body: answers[Math.min(api.seen.length, answers.length) - 1]! }));

  it("declares a loss after the channel's name was typed, and waits until it continues", async () => {
    const declared = { ...LOSS, status: 'declared', epoch: 2, declaration };
    say(LOSS, declared, declared, { ...declared, status: 'whole', lost: [] });
    const asked: string[] = [];
    const ask = async (question: string) => (asked.push(question), 'acme.main');
    const { code, out, err } = await runLine(RECOVER, { env, ask });
    expect(code).toBe(0);
    expect(asked).toEqual([
      'After the declaration, these records cannot be restored into acme.main. Type "acme.main" to continue: ',
    ]);
    expect(err).toBe(`Lost, found at 2030-01-02T04:00:00.000Z, written after 2030-01-02T03:00:00.000Z:
  the log: indexes 2 to 3, 2 in all
  epoch 1: nothing; it ends with 5 entries
Declared. Waiting until the new epoch is signed.
`);
    expect(out).toMatch(/epoch +2\n[^]*reason +Dump of Monday\n/);
    expect(api.seen).toMatchObject([
      { method: 'GET', path: lossPath },
      { method: 'POST', path: `${lossPath}/declare`, body: '{"reason":"Dump of Monday","checkpoint":"kept"}' },
      { method: 'GET', path: lossPath },
      { method: 'GET', path: lossPath },
    ]);
  });

  it.each(['yes', 'acme.mian', ''])('declares nothing after "%s"', async (typed) => {
    say(LOSS);
    expect(await runLine(RECOVER, { env, ask: async () => typed })).toMatchObject({ code: 2, out: '' });
    expect(await run(RECOVER)).toMatchObject({ code: 2, err: expect.stringContaining('use --yes') });
    expect(api.seen.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('waits for an earlier declaration, and declares nothing if nothing is lost', async () => {
    say({ ...LOSS, status: 'declared', epoch: 2, declaration }, { ...LOSS, status: 'whole', epoch: 2, declaration });
    expect(await run(`${RECOVER} --yes`)).toMatchObject({ code: 0 });
    say({ ...LOSS, status: 'whole', lost: [] });
    expect(await run(`${RECOVER} --yes`)).toMatchObject({ code: 0, err: '' });
    expect(api.seen.every(({ method }) => method === 'GET')).toBe(true);
  });

  it('exits with 1 if the channel does not continue, or if the declaration is rejected', async () => {
    say({ ...LOSS, status: 'declared' });
    expect(await run(`${RECOVER} --yes`)).toMatchObject({ code: 1, out: '' });
    api.answer(() => (api.seen.length === 1 ? { body: LOSS } : problem(412, 'PRECONDITION_FAILED')));
    expect(await run(`${RECOVER} --yes`)).toMatchObject({ code: 1, out: '' });
  });
});

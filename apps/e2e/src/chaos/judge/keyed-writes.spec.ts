import { describe, expect, it } from '@jest/globals';
import type { Asked } from '../history.ts';
import { acknowledgedWrites } from './acknowledged-writes.ts';
import type { Check } from './check.ts';
import { KeyedWrites } from './keyed-writes.ts';
import type { LedgerRecord } from './ledger-records.ts';
import { notWritten } from './not-written.ts';
import { asked, verdictOf } from './testing/lines.ts';

const body = (n: number): string => JSON.stringify({ type: 't', n, password: 'p' });
const row = (index: number, n: number, members: Partial<LedgerRecord> = {}): LedgerRecord => ({
  ...{ channel: 'acme.main', network: 'acme', index, id: `id-${index}`, type: 't', owner: null, extra: null },
  ...{ data: `{"n":${n}}`, transactionId: `tx-${index}`, leafHash: `leaf-${index}`, leafOfColumns: undefined },
  ...members,
});
const receipt = ({ id, channel, index, transactionId, leafHash }: LedgerRecord) => ({
  id,
  channel,
  index,
  transactionId,
  leafHash,
});
const written = (n: number, rows: readonly LedgerRecord[], members: Partial<Asked> = {}): Asked =>
  asked({
    key: `k-${n}`,
    sent: { body: body(n) },
    status: 200,
    text: JSON.stringify({ records: rows.map(receipt) }),
    ...members,
  });
const refused = (n: number, code: string, members: Partial<Asked> = {}): Asked =>
  asked({ key: `k-${n}`, sent: { body: body(n) }, status: 503, text: `{"code":"${code}"}`, ...members });
const unanswered = (n: number): Asked => asked({ key: `k-${n}`, sent: { body: body(n) } });

async function broken(
  lines: Asked[],
  rows: LedgerRecord[],
): Promise<{ writes: readonly string[]; untrue: readonly string[] }> {
  const writes = new KeyedWrites();
  const check: Check = { line: (line, number) => writes.line(line, number), ...acknowledgedWrites(writes) };
  const verdict = await verdictOf(check, lines, rows);
  return { writes: verdict.broken, untrue: (await verdictOf(notWritten(writes), [])).broken };
}
const kept = { writes: [], untrue: [] };

describe('acknowledged writes', () => {
  const rows = [row(0, 0), row(1, 1)];

  it('are there once, without what is stripped, whoever was told of them', async () => {
    const lines = [
      unanswered(0),
      written(0, [rows[0]!]),
      refused(1, 'LEDGER_UNAVAILABLE'),
      written(1, [rows[1]!]),
      written(1, [rows[1]!], { replayed: true }),
    ];
    expect(await broken(lines, rows)).toEqual(kept);
  });

  it('may be there without an answer, once', async () => {
    expect(await broken([unanswered(0), refused(1, 'OUTCOME_UNKNOWN')], rows)).toEqual(kept);
    const twice = await broken([unanswered(0)], [row(0, 0), row(1, 0)]);
    expect(twice).toEqual({ writes: ['acme.main/1 (id-1) is a record that nobody sent, or a second one'], untrue: [] });
  });

  it('are broken by one that is lost', async () => {
    expect((await broken([written(0, [rows[0]!]), written(1, [rows[1]!])], [rows[0]!])).writes).toEqual([
      'line 2: acme.main/1 was acknowledged and is not there',
    ]);
  });

  it('are broken by a second copy, and by a record that nobody sent', async () => {
    expect((await broken([written(0, [rows[0]!])], [rows[0]!, row(1, 0)])).writes).toHaveLength(1);
    expect((await broken([written(0, [rows[0]!])], [rows[0]!, row(1, 7)])).writes).toHaveLength(1);
  });

  it.each([
    { data: '{"n":7}' },
    { type: 'u' },
    { owner: 'o' },
    { extra: '{}' },
    { id: 'x' },
    { transactionId: 'x' },
    { leafHash: 'x' },
  ])('are broken by other content in their place: %j', async (members) => {
    expect((await broken([written(0, [rows[0]!])], [row(0, 0, members)])).writes).toEqual([
      'line 1: acme.main/0 is not what was sent and told',
    ]);
  });

  it('are broken by two answers that name one place', async () => {
    expect((await broken([written(0, [rows[0]!]), written(1, [rows[0]!])], [rows[0]!])).writes).toEqual([
      'lines 1 and 2: two records were told to be acme.main/0',
    ]);
  });

  it('are broken by a receipt of another network, and by too few of them', async () => {
    const foreign = row(0, 0, { channel: 'other.main' });
    expect((await broken([written(0, [foreign])], [])).writes[0]).toBe(
      'line 1: acme was given a receipt of other.main',
    );
    expect((await broken([written(0, [])], [])).writes).toEqual(['line 1: 1 records were sent, and 0 receipts came']);
  });

  it('of a batch are compared one by one, each once for each channel', async () => {
    const assets = [
      { id: 'a', type: 't', data: { n: 1 }, note: 1, targetChannels: ['main', 'b'] },
      { type: 't', n: 2 },
    ];
    const all = [
      row(0, 1, { channel: 'acme.b', id: 'a', extra: '{"note":1}' }),
      row(0, 1, { id: 'a', extra: '{"note":1}' }),
      row(1, 2),
    ];
    const line = written(0, all, { sent: { body: JSON.stringify({ assets }) } });
    expect(await broken([line], all)).toEqual(kept);
  });

  it('may leave out a text that was told before, or is told after', async () => {
    const { sent: _sent, ...bare } = written(0, [rows[0]!], { replayed: true });
    expect(await broken([bare, written(0, [rows[0]!]), bare], [rows[0]!])).toEqual(kept);
    expect((await broken([bare], [])).writes).toEqual(['line 1: the history does not say what was sent']);
  });
});

describe('"not written"', () => {
  it.each(['UNAVAILABLE', 'LEDGER_UNAVAILABLE', 'OVERLOADED'])(
    'is untrue where %s was told, and the record is there',
    async (code) => {
      expect((await broken([refused(0, code)], [row(0, 0)])).untrue).toEqual([
        `line 1: write acme k-0 was told ${code}, and its record is there`,
      ]);
    },
  );

  it('is untrue where every later answer is a replay, and nobody else could have written', async () => {
    const replay = written(0, [row(0, 0)], { replayed: true });
    expect((await broken([refused(0, 'LEDGER_UNAVAILABLE'), replay], [row(0, 0)])).untrue).toHaveLength(1);
    expect(await broken([unanswered(0), refused(0, 'LEDGER_UNAVAILABLE'), replay], [row(0, 0)])).toEqual(kept);
  });

  it('is true of what is not there, and of what a later attempt wrote', async () => {
    expect(await broken([refused(0, 'UNAVAILABLE')], [])).toEqual(kept);
    expect(await broken([refused(0, 'UNAVAILABLE'), written(0, [row(0, 0)])], [row(0, 0)])).toEqual(kept);
  });

  it('is what 4xx says, so that another text under a used key is not there', async () => {
    const other = refused(0, 'IDEMPOTENCY_KEY_REUSED', { status: 422, sent: { body: body(7) } });
    const { untrue } = await broken([written(0, [row(0, 0)]), other], [row(0, 0), row(1, 7)]);
    expect(untrue).toHaveLength(1);
  });
});

describe('webhooks', () => {
  const extra =
    '{"bodySha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","deliveryId":"d","source":"src_1"}';
  const made = row(0, 0, { type: 'push', data: '{}', extra });
  const delivered = asked({
    ...{ act: 'deliver', key: 'd', target: '/hooks/src_1', status: 200, sent: { body: '{}' } },
    text: JSON.stringify({ records: [receipt(made)] }),
  });

  it('are there with their source, id and hash, whatever their type', async () => {
    expect(await broken([delivered], [made])).toEqual(kept);
    expect((await broken([{ ...delivered, key: 'e' }], [made])).writes).toHaveLength(1);
  });

  it('are not there for an id with other bytes, which is told so with 200', async () => {
    const other = { ...delivered, sent: { body: '{"a":1}' }, text: '{"eventId":"evt_1","records":[]}' };
    expect(await broken([delivered, other], [made])).toEqual(kept);
    const wrong = row(1, 0, {
      data: '{"a":1}',
      extra: extra.replace(
        '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
        '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862',
      ),
    });
    expect((await broken([delivered, other], [made, wrong])).untrue).toHaveLength(1);
  });
});

describe('assets', () => {
  const sync = (text: object, members: Partial<Asked> = {}): Asked =>
    asked({
      ...{
        surface: 'ledger-peer',
        act: 'sync',
        as: 'peer-1',
        target: '/api/assets',
        status: 200,
        text: JSON.stringify(text),
      },
      ...{ sent: { body: '{"assets":[{"id":"a","type":"t","data":{"n":1}}]}' }, ...members },
    });
  const asset = row(0, 1, { id: 'a' });
  const succeeded = {
    succeeded: ['a'],
    transactions: [{ transactionId: 'tx-0', channel: 'acme.main', assetIds: ['a'] }],
  };

  it('are there once they succeeded, at once or by a job', async () => {
    expect(await broken([sync(succeeded)], [asset])).toEqual(kept);
    const job = { id: 'job_1', status: 'done', result: succeeded };
    expect(
      await broken([sync({ jobId: 'job_1' }, { status: 202 }), sync(job, { act: 'job', sent: {} })], [asset]),
    ).toEqual(kept);
  });

  it('are broken by one that is lost, or other content', async () => {
    expect((await broken([sync(succeeded)], [])).writes).toEqual([
      'line 1: the asset acme.main a was acknowledged and is not there',
    ]);
    expect((await broken([sync(succeeded)], [row(0, 2, { id: 'a' })])).writes).toHaveLength(1);
  });

  it('are not there where the only answer says that they failed', async () => {
    const failed = sync({
      succeeded: [],
      failed: [{ id: 'a', code: 'LEDGER_UNAVAILABLE' }],
      transactions: succeeded.transactions.map((one) => ({ ...one, assetIds: [] })),
    });
    expect((await broken([failed], [asset])).untrue).toEqual([
      'line 1: asset a was told LEDGER_UNAVAILABLE, and its record is there',
    ]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { createSource, type ManageSourcesPorts } from '../domain/manage-sources.ts';
import { openTestEvents, START_MS, type TestEvents } from '../testing/test-events.ts';
import { CONFLICT, deliveriesStore, deliveryCounts, type DeliveryFilter } from './deliveries-store.ts';
import { ingestRemovals } from './event-retention.ts';
import { liveSources } from './live-callers.ts';
import { refusalWriter, refusedStore } from './refused-store.ts';
import { acceptingSources, resealSecrets, sealedSecrets, sourcesStore } from './sources-store.ts';
import { writeRejectedDelivery } from './write-events.ts';

const [OLD, NEW] = [`old:${'o'.repeat(32)}`, `new:${'n'.repeat(32)}`];
const VALUE = 'a-secret-of-the-sender';
const boxOf = (secrets: string) => ServerSecrets.parse(secrets).sealing('source secrets');

let test: TestEvents;
let sql: TestEvents['sql'];
beforeAll(async () => {
  test = await openTestEvents();
  ({ sql } = test);
}, 60_000);
afterAll(() => test.close());

const also = () => async () => undefined;

async function newSource(box = boxOf(OLD)): Promise<string> {
  const ports: ManageSourcesPorts = {
    sources: sourcesStore(sql),
    channelsOf: async () => ['main'],
    seal: (value, sourceId) => box.seal(value, sourceId),
    hasPublicUrl: false,
    mostBytes: 26_214_400,
    now: () => START_MS,
  };
  const secrets = [
    { id: 'k1', value: VALUE },
    { id: 'k2', value: `${VALUE}-2` },
  ];
  const given = { networkId: 'acme', name: 'A', scheme: 'github', settings: {}, secrets, enabled: true } as const;
  return (await createSource(ports, given, also)).sourceId;
}

function lookUp(secrets: string, sourceId: string) {
  const sealed: string[] = [];
  const live = liveSources({
    sql,
    box: boxOf(secrets),
    deadlineMs: 5000,
    publicUrl: undefined,
    now: () => START_MS,
    onSealed: (id) => sealed.push(id),
  });
  return { sealed, found: live.find(sourceId) };
}

const textOf = async (sourceId: string) => {
  const [row] = await sql.query<{ text: string }>({
    text: 'SELECT s::text AS text FROM ingest.sources s WHERE source_id = $1',
    values: [sourceId],
  });
  return row?.text ?? '';
};

const needs = (making: string) =>
  sql.query<{ secret_id: string; rows: string }>({ text: sealedSecrets.text!, values: [making] });

describe('the secrets of a source', () => {
  it('are stored encrypted, and can be decrypted by a process with the server secret', async () => {
    const sourceId = await newSource();
    expect(await textOf(sourceId)).not.toContain(VALUE);
    const { found, sealed } = lookUp(OLD, sourceId);
    const { source } = (await found)!;
    expect(source.keys.map(({ id, key }) => [id, key.export().toString()])).toEqual([
      ['k1', VALUE],
      ['k2', `${VALUE}-2`],
    ]);
    expect([source.hasAllKeys, sealed]).toEqual([true, []]);
    const other = lookUp(NEW, sourceId);
    expect((await other.found)!.source).toMatchObject({ keys: [], hasAllKeys: false });
    expect(other.sealed).toEqual([sourceId, sourceId]);
  });

  it('cannot be decrypted in the row of another source', async () => {
    const [one, two] = [await newSource(), await newSource()];
    const text = `UPDATE ingest.sources SET secrets = (SELECT secrets FROM ingest.sources WHERE source_id = $1) WHERE source_id = $2`;
    await sql.query({ text, values: [one, two] });
    expect((await lookUp(OLD, two).found)!.source.keys).toEqual([]);
    await sql.query({ text: 'DELETE FROM ingest.sources WHERE source_id = ANY ($1)', values: [[one, two]] });
  });

  it('are encrypted again with a new server secret, after which the old one is not needed', async () => {
    const sourceId = await newSource();
    const before = await needs('new');
    expect(before.map(({ secret_id: id }) => id)).toEqual(['old']);
    expect(await resealSecrets(sql, boxOf(`${OLD},${NEW}`))).toBe(0);
    expect(await resealSecrets(sql, boxOf(`${NEW},${OLD}`))).toBeGreaterThan(0);
    expect(await resealSecrets(sql, boxOf(`${NEW},${OLD}`))).toBe(0);
    expect(await needs('new')).toEqual([]);
    expect((await lookUp(NEW, sourceId).found)!.source).toMatchObject({ hasAllKeys: true });
    // A secret that cannot be decrypted stays as it is.
    const text = await textOf(sourceId);
    expect(await resealSecrets(sql, boxOf(OLD))).toBe(0);
    expect(await textOf(sourceId)).toBe(text);
  });

  it('count as accepting until they are disabled or deleted', async () => {
    const [one, two, three] = [await newSource(), await newSource(), await newSource()];
    const found = async () => [...(await acceptingSources(sql, [one, two, three, 'src_none']))].sort();
    expect(await found()).toEqual([one, two, three].sort());
    const set = (change: string, id: string) =>
      sql.query({ text: `UPDATE ingest.sources SET ${change} WHERE source_id = $1`, values: [id] });
    await set('enabled = false', one);
    await set('deleted_at = now()', two);
    expect(await found()).toEqual([three]);
  });

  it('are deleted with the source', async () => {
    const sourceId = await newSource();
    const store = sourcesStore(sql);
    const at = new Date(START_MS);
    expect(await store.delete('acme', sourceId, { at, also: also() })).toBe('deleted');
    expect(await store.delete('acme', sourceId, { at, also: also() })).toBe('already');
    expect(await store.delete('demo', sourceId, { at, also: also() })).toBe('missing');
    expect(await textOf(sourceId)).not.toContain('old:');
    expect(await lookUp(OLD, sourceId).found).toBeUndefined();
  });
});

describe('a row that a list could not show', () => {
  it.each([
    `UPDATE ingest.sources SET scheme = 'other'`,
    `UPDATE ingest.sources SET secrets = 'null'`,
    `UPDATE ingest.sources SET secrets = '[null]'`,
    `UPDATE ingest.sources SET secrets = '[{}]'`,
    `UPDATE ingest.networks SET channels = '{NULL}'`,
    `UPDATE ingest.networks SET channels = '{{a,b},{c,d}}'`,
    `UPDATE ingest.networks SET created_at = '0044-03-15 BC'`,
    `UPDATE ingest.networks SET created_at = '10000-06-01'`,
    `INSERT INTO ingest.api_keys (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at)
     VALUES ('k', 'acme', 'k', '', '', decode(repeat('00', 32), 'hex'), 'null', now())`,
    `INSERT INTO ingest.api_keys (id, owner_id, family_id, label, key_prefix, key_hash, grants, created_at)
     VALUES ('k', 'acme', 'k', '', '', decode(repeat('00', 32), 'hex'), '{"permissions":1}', now())`,
  ])('is refused: %s', async (text) => {
    await newSource();
    await expect(sql.query({ text })).rejects.toMatchObject({ code: expect.stringMatching(/^(23514|0A000)$/) });
  });
});

describe('a source that is looked up', () => {
  it('is current: after a change of the source, a change of its network, or the deletion of either', async () => {
    const sourceId = await newSource();
    const live = liveSources({
      sql,
      box: boxOf(OLD),
      deadlineMs: 5000,
      publicUrl: undefined,
      now: () => START_MS,
      onSealed: () => undefined,
    });
    const first = await live.find(sourceId);
    expect(await live.find(sourceId)).toBe(first);
    await sql.query({ text: `UPDATE ingest.networks SET channels = '{main,more}' WHERE network_id = 'acme'` });
    expect((await live.find(sourceId))!.channels).toEqual(['main', 'more']);
    await sourcesStore(sql).update('acme', sourceId, {
      change: (source) => ({ ...source, settings: { allowedTypes: ['push'] } }),
      also: also(),
    });
    expect((await live.find(sourceId))!.grants.allowedAssetTypes).toEqual(['push']);
    await sql.query({ text: `UPDATE ingest.networks SET deleted_at = now() WHERE network_id = 'acme'` });
    expect(await live.find(sourceId)).toBeUndefined();
    await sql.query({ text: `UPDATE ingest.networks SET deleted_at = NULL WHERE network_id = 'acme'` });
  });

  it('is at most one of two hundred of its network, however many are created concurrently', async () => {
    await sql.query({ text: 'DELETE FROM ingest.sources' });
    const outcomes = await Promise.allSettled(Array.from({ length: 210 }, () => newSource()));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(200);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'LIMIT_REACHED' });
  });
});

describe('counts of deliveries', () => {
  it('are one row per source, minute and outcome across processes and flushes, and are removed with the events', async () => {
    const [one, two] = [1, 2].map(() => deliveryCounts(sql, (error) => expect(error).toBeUndefined()));
    const count = {
      sourceId: 'src_a',
      outcome: 'refused' as const,
      code: 'UNAUTHENTICATED' as const,
      requestId: 'r1',
      atMs: START_MS + 1,
    };
    for (const counts of [one!, two!]) {
      counts.add(count);
      counts.add({ ...count, requestId: 'r2', atMs: START_MS + 59_999 });
      await counts.flush();
    }
    one!.add({ ...count, outcome: 'replayed', code: undefined });
    one!.add({ ...count, atMs: START_MS + 60_000 });
    await one!.close();
    await two!.close();
    const store = deliveriesStore(sql, test.events);
    const listed = await store.list('src_a', { limit: 10 });
    expect(listed.map(({ outcome, code, deliveries }) => [outcome, code, deliveries])).toEqual([
      ['refused', 'UNAUTHENTICATED', 1],
      ['refused', 'UNAUTHENTICATED', 4],
      ['replayed', null, 1],
    ]);
    expect(await store.list('src_a', { limit: 10, after: listed[0]!.position })).toEqual(listed.slice(1));
    const day = 86_400_000;
    const kept = { eventDays: 90, claimDays: undefined };
    expect(await ingestRemovals(sql, kept, () => START_MS + 90 * day)['deliveries']!(100)).toBe(0);
    expect(await ingestRemovals(sql, kept, () => START_MS + 91 * day)['deliveries']!(100)).toBe(3);
  });
});

describe('the deliveries of a source', () => {
  const list = async (sourceId: string, pageSize: number) => {
    const store = deliveriesStore(sql, test.events);
    const all: Awaited<ReturnType<typeof store.list>> = [];
    for (let after: string | undefined; ; after = all.at(-1)!.position) {
      const page = await store.list(sourceId, { limit: pageSize, after });
      all.push(...page);
      if (page.length < pageSize) return all;
    }
  };
  const eventAt = (ms: number) => `evt_${(START_MS + ms).toString(16).padStart(12, '0')}${'0'.repeat(20)}`;
  const rejectedAt = (ms: number, requestId: string) => {
    const event = { eventId: eventAt(ms), networkId: 'acme', sourceId: 'src_order', requestId, types: ['a'] };
    return writeRejectedDelivery(sql, { ...event, strippedFields: 0, deliveryId: requestId }, START_MS + ms + 700);
  };

  it('are newest first by the time that is shown, on every page, counts and events together', async () => {
    const counts = deliveryCounts(sql, (error) => expect(error).toBeUndefined());
    const count = { sourceId: 'src_order', outcome: 'refused' as const, requestId: 'r' };
    for (const [code, ms] of [
      ['INVALID_JSON', 1000],
      ['RATE_LIMITED', 3000],
      ['UNAUTHENTICATED', 61_000],
    ] as const)
      counts.add({ ...count, code, atMs: START_MS + ms });
    counts.add({ ...count, outcome: 'replayed', code: undefined, atMs: START_MS + 2000 });
    await counts.close();
    for (const ms of [1500, 1501, 3500, 62_000]) await rejectedAt(ms, `r${ms}`);
    for (const pageSize of [1, 2, 3, 20]) {
      const times = (await list('src_order', pageSize)).map(({ at }) => at.getTime() - START_MS);
      expect(times).toEqual([62_000, 61_000, 3500, 3000, 2000, 1501, 1500, 1000]);
    }
  });

  it('are filtered by outcome and time, on every page in both orders, and counted so', async () => {
    const store = deliveriesStore(sql, test.events);
    const at = (ms: number) => new Date(START_MS + ms);
    const ordered = async (filter: DeliveryFilter, oldestFirst: boolean) => {
      const all: number[] = [];
      for (let after: string | undefined; ;) {
        const page = await store.list('src_order', { limit: 2, after, oldestFirst, ...filter });
        all.push(...page.map((row) => row.at.getTime() - START_MS));
        after = page.at(-1)?.position;
        if (page.length < 2) return all;
      }
    };
    const times = async (filter: DeliveryFilter) => {
      const all = await ordered(filter, false);
      expect(await ordered(filter, true)).toEqual(all.toReversed());
      expect(await store.count('src_order', filter)).toBe(all.length);
      return all;
    };
    expect(await times({})).toEqual([62_000, 61_000, 3500, 3000, 2000, 1501, 1500, 1000]);
    expect(await times({ outcome: 'refused' })).toEqual([61_000, 3000, 1000]);
    expect(await times({ outcome: 'replayed' })).toEqual([2000]);
    expect(await times({ outcome: 'conflict' })).toEqual([62_000, 3500, 1501, 1500]);
    expect(await times({ outcome: 'written' })).toEqual([]);
    expect(await times({ from: at(1501), to: at(3500) })).toEqual([3000, 2000, 1501]);
    expect(await times({ from: at(2000), to: at(61_000), outcome: 'refused' })).toEqual([3000]);
    // Those of one outcome by the time of the event, as in the data view.
    expect(await times({ from: at(2201), to: at(62_000), outcome: 'conflict' })).toEqual([3500, 1501]);
  });

  it('are found by the id that their sender gave them, without counts', async () => {
    await rejectedAt(90_000, 'msg_7');
    await rejectedAt(91_000, 'msg_7');
    await rejectedAt(92_000, 'msg_8');
    const store = deliveriesStore(sql, test.events);
    const found = async (sourceId: string, deliveryId: string, after?: string) =>
      (await store.list(sourceId, { limit: 1, deliveryId, after })).map(({ eventId }) => eventId);
    expect(await found('src_order', 'msg_7')).toEqual([eventAt(91_000)]);
    expect(await found('src_order', 'msg_7', eventAt(91_000).slice(4))).toEqual([eventAt(90_000)]);
    expect(await found('src_other', 'msg_7')).toEqual([]);
    expect(await found('src_order', 'msg')).toEqual([]);
    expect(
      await Promise.all(['msg_7', 'msg_8', 'msg'].map((id) => store.count('src_order', { deliveryId: id }))),
    ).toEqual([2, 1, 0]);
    expect(await store.count('src_other', { deliveryId: 'msg_7' })).toBe(0);
  });

  it('that are conflicts have code and reason, and are counted as refused, but listed once', async () => {
    await rejectedAt(100_000, 'sent');
    await rejectedAt(101_000, 'again');
    const counts = deliveryCounts(sql, (error) => expect(error).toBeUndefined());
    const conflict = { code: 'IDEMPOTENCY_KEY_REUSED', reason: 'delivery-id-reused', requestId: 'sent' } as const;
    const of = { ...conflict, sourceId: 'src_order', atMs: START_MS + 100_000 };
    counts.add({ ...of, outcome: CONFLICT });
    await counts.close();
    const box = ServerSecrets.parse(OLD).sealing('kept deliveries');
    const writer = refusalWriter({
      sql,
      box,
      newId: test.newId,
      onDropped: () => undefined,
      onFailure: (error) => expect(error).toBeUndefined(),
    });
    // Processing it again left another event.
    writer.add({ ...of, isAuthentic: true, detail: 'd', eventId: eventAt(101_000) });
    await writer.close();
    const { code, reason } = conflict;
    expect((await list('src_order', 20)).filter(({ at }) => at.getTime() >= START_MS + 99_000)).toMatchObject([
      { outcome: 'conflict', code, reason, requestId: 'again', deliveries: 1 },
      { outcome: 'conflict', code, reason, requestId: 'sent', deliveries: 1 },
    ]);
    const counted = await refusedStore({ sql, box, now: () => START_MS }).counts('src_order', {});
    expect(counted).toContainEqual(expect.objectContaining({ code, reason, deliveries: 1 }));
  });
});

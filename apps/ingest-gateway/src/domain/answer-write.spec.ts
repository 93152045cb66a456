import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { InFlight } from '@sealgate/idempotency';
import { StaleGuardError, type AppendUnit, type UnitResult } from '@sealgate/ledger-port';
import {
  answerWrite,
  derivedIds,
  formatUuid,
  freshUuids,
  renderAnswer,
  renderPing,
  type WriteRequest,
} from './answer-write.ts';
import type { IngestCaller } from './caller.ts';

const guard = { kind: 'key', id: 'key_1', version: '7' };
const caller: IngestCaller = {
  networkId: 'acme',
  familyId: 'key_1',
  keyId: 'key_1',
  channels: ['main'],
  grants: {} as IngestCaller['grants'],
  networkLimits: undefined,
  guard,
};

/** A ledger with a given result for each unit, and a caller that may be revoked before the look-up. */
function surface({
  outcome = 'written',
  isGone = false,
}: {
  outcome?: 'written' | 'replayed' | 'existing' | 'stale';
  isGone?: boolean;
}) {
  const calls = { units: [] as AppendUnit[], lookUps: 0, answers: 0, replays: 0, touched: [] as string[] };
  const append = async (unit: AppendUnit): Promise<UnitResult> => {
    calls.units.push(unit);
    if (outcome === 'stale') throw new StaleGuardError('stale');
    const records = unit.records.map(({ id }) => ({
      id,
      channel: unit.channel,
      transactionId: 'tx',
      index: 0,
      leafHash: 'ff',
      existing: false,
    }));
    return { outcome, transactionId: 'tx', note: unit.note, records };
  };
  const secrets = ServerSecrets.parse(`s1:${'s'.repeat(32)}`);
  const answer = answerWrite({
    ledger: { append, findConflict: async () => undefined },
    inFlight: new InFlight(),
    fingerprints: secrets.derive('ingest fingerprints'),
    recordIds: secrets.derive('ingest record ids'),
    freshIds: (position) => `made-${position}`,
    newId: (prefix) => `${prefix}1`,
    accepted: { inc: () => void (calls.answers += 1) },
    replayed: { inc: () => void (calls.replays += 1) },
    touchKey: (keyId) => void calls.touched.push(keyId),
  });
  const request = (more: Partial<WriteRequest> = {}) =>
    answer({
      caller,
      requestId: 'req',
      records: [{ id: undefined, type: 'unknown', owner: null, data: '{}', extra: null, targetChannels: undefined }],
      strippedFields: 0,
      idempotencyKeys: ['order-7'],
      path: '/acme',
      rawBody: Buffer.from('{}'),
      guard,
      charge: async () => undefined,
      async confirmCaller() {
        calls.lookUps += 1;
        if (isGone) throw new AppError('UNAUTHENTICATED', 'A valid key is required.');
      },
      ...more,
    });
  return { request, calls };
}

describe('the answer to a write of a caller from the cache', () => {
  it.each(['written', 'existing'] as const)(
    'needs no look-up where the ledger has confirmed the guard: %s',
    async (outcome) => {
      const { request, calls } = surface({ outcome });
      expect(await request()).toMatchObject({ replayed: false, confirmed: true });
      expect(calls.units[0]!.guard).toEqual(guard);
      expect(calls).toMatchObject({ lookUps: 0, answers: 1, replays: 0, touched: ['key_1'] });
    },
  );

  it('that is a replay waits for a look-up, and is neither given nor counted where the caller was revoked', async () => {
    const { request, calls } = surface({ outcome: 'replayed' });
    expect(await request()).toMatchObject({ replayed: true, confirmed: false });
    expect(calls).toMatchObject({ lookUps: 1, answers: 1, replays: 1, touched: [] });
    const gone = surface({ outcome: 'replayed', isGone: true });
    await expect(gone.request()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(gone.calls).toMatchObject({ answers: 0, replays: 0 });
  });

  it('that was joined in flight waits for a look-up: only the first was confirmed', async () => {
    const { request, calls } = surface({});
    const [first, joined] = await Promise.all([request(), request()]);
    expect([first.confirmed, joined.confirmed, joined.replayed]).toEqual([true, false, true]);
    expect([calls.units.length, calls.lookUps]).toEqual([1, 1]);
  });

  it('is none where the guard is stale; nothing stays in flight, so the caller can be served again', async () => {
    const { request } = surface({ outcome: 'stale' });
    await expect(request()).rejects.toMatchObject({ name: 'StaleGuardError' });
    await expect(request()).rejects.toMatchObject({ name: 'StaleGuardError' });
  });
});

it('of a caller that was looked up has no guard, and no second look-up', async () => {
  const { request, calls } = surface({ outcome: 'replayed' });
  expect(await request({ guard: undefined })).toMatchObject({ replayed: true, confirmed: false });
  expect([calls.units[0]!.guard, calls.lookUps]).toEqual([undefined, 0]);
});

describe('the answer of a write', () => {
  it('equals the output of JSON.stringify, in the documented order', () => {
    const receipt = {
      id: 'a"\\é',
      transactionId: 'aa',
      channel: 'acme.main',
      index: 0,
      leafHash: 'ff',
      existing: true,
    };
    const { leafHash, existing, ...place } = receipt;
    const declared = { ...place, epoch: 1, leafHash, existing };
    const text = renderAnswer({
      eventId: 'evt_1',
      transactionIds: ['aa', 'bb'],
      recordCount: 2,
      records: [receipt, { ...receipt, id: 'b', existing: false }, declared],
      strippedFields: 3,
      replayed: false,
    });
    expect(text).toBe(
      JSON.stringify({
        transactionIds: ['aa', 'bb'],
        summary: { total: 2, succeeded: 2, failed: 0 },
        eventId: 'evt_1',
        records: [receipt, { id: 'b', transactionId: 'aa', channel: 'acme.main', index: 0, leafHash: 'ff' }, declared],
        strippedFields: 3,
      }),
    );
  });

  it('omits index and leaf hash where the ledger has none', () => {
    const records = [{ id: 'a', transactionId: 'aa', channel: 'acme.main', existing: false }];
    const text = renderAnswer({
      eventId: 'e',
      transactionIds: ['aa'],
      recordCount: 1,
      records,
      strippedFields: 0,
      replayed: false,
    });
    expect(JSON.parse(text).records).toEqual([{ id: 'a', transactionId: 'aa', channel: 'acme.main' }]);
  });

  it('of a ping contains no records', () => {
    expect(JSON.parse(renderPing('evt_1'))).toEqual({
      ping: true,
      transactionIds: [],
      summary: { total: 0, succeeded: 0, failed: 0 },
      eventId: 'evt_1',
    });
  });
});

describe('record ids', () => {
  it('writes version and variant where RFC 9562 says', () => {
    expect(formatUuid(Buffer.alloc(16, 0xff), 7)).toBe('ffffffff-ffff-7fff-bfff-ffffffffffff');
    expect(formatUuid(Buffer.alloc(16, 0), 8)).toBe('00000000-0000-8000-8000-000000000000');
  });

  it('derives the same ids from the same seed, others from another seed or position', () => {
    const one = derivedIds(Buffer.alloc(32, 1));
    const again = derivedIds(Buffer.alloc(32, 1));
    expect(one(0)).toBe(again(0));
    expect(new Set([one(0), one(1), one(256), derivedIds(Buffer.alloc(32, 2))(0)]).size).toBe(4);
    expect(one(0)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('derives the ids that RFC 9562 makes of each half of SHA-256 over seed and pair, for all digits', () => {
    for (let byte = 0; byte < 64; byte += 1) {
      const seed = Buffer.alloc(32, byte);
      const ids = derivedIds(seed);
      for (const position of [0, 1, 2, 9_999]) {
        const pair = Buffer.alloc(4);
        pair.writeUInt32BE(Math.floor(position / 2));
        const digest = createHash('sha256').update(seed).update(pair).digest();
        const half = position % 2 === 0 ? digest.subarray(0, 16) : digest.subarray(16);
        expect(ids(position)).toBe(formatUuid(half, 8));
      }
    }
  });

  it('orders fresh ids by time: the example of RFC 9562 A.6 has this time', () => {
    const ids = freshUuids(
      () => 0x017f22e279b0,
      () => Buffer.from('18c4dc0c0c07398f', 'hex'),
    );
    expect([ids(0), ids(0)]).toEqual(['017f22e2-79b0-7000-98c4-dc0c0c07398f', '017f22e2-79b0-7001-98c4-dc0c0c07398f']);
  });
});

import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { InFlight } from '@sealgate/idempotency';
import { StaleGuardError, type AppendUnit, type UnitResult } from '@sealgate/ledger-port';
import { answerWrite, type WriteRequest } from './answer-write.ts';
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
  const calls = { units: [] as AppendUnit[], lookUps: 0, answers: [] as boolean[] };
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
    newEventId: () => 'evt_1',
    onAnswer: ({ confirmed }) => void calls.answers.push(confirmed),
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
      expect([calls.lookUps, calls.answers]).toEqual([0, [true]]);
    },
  );

  it('that is a replay waits for a look-up, and is neither given nor counted where the caller was revoked', async () => {
    const { request, calls } = surface({ outcome: 'replayed' });
    expect(await request()).toMatchObject({ replayed: true, confirmed: false });
    expect(calls.lookUps).toBe(1);
    const gone = surface({ outcome: 'replayed', isGone: true });
    await expect(gone.request()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(gone.calls.answers).toEqual([]);
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

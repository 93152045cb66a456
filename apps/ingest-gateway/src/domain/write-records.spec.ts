import { describe, expect, it } from '@jest/globals';
import {
  ChannelHaltedError,
  ClaimInFlightError,
  LedgerOverloadedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  StaleGuardError,
  type AppendUnit,
  type LedgerAppender,
  type UnitResult,
} from '@sealgate/ledger-port';
import type { CanonicalRecord } from './read-submission.ts';
import { writeRecords, type WriteOrder } from './write-records.ts';

const submitted = (more: Partial<CanonicalRecord> = {}): CanonicalRecord => ({
  id: undefined,
  type: 'unknown',
  owner: null,
  data: '{}',
  extra: null,
  targetChannels: undefined,
  ...more,
});

const order = (records: CanonicalRecord[], more: Partial<WriteOrder> = {}): WriteOrder => ({
  networkId: 'acme',
  channels: ['main', 'b', 'a'],
  keyId: 'key_1',
  requestId: 'req',
  eventId: 'evt_1',
  records,
  ids: (position) => `made-${position}`,
  claim: undefined,
  strippedFields: 0,
  ...more,
});

/** A ledger that writes everything, or gives the prepared results, and records its calls. */
function fakeLedger(answers: (UnitResult | Error)[] = []): LedgerAppender & { units: AppendUnit[] } {
  const units: AppendUnit[] = [];
  return {
    units,
    findConflict: async () => undefined,
    async append(unit) {
      units.push(unit);
      const answer = answers[units.length - 1];
      if (answer instanceof Error) throw answer;
      if (answer !== undefined) return answer;
      const transactionId = `tx-${unit.channel}`;
      const records = unit.records.map(({ id }, index) => ({
        id,
        channel: unit.channel,
        transactionId,
        index,
        leafHash: 'ff',
        existing: false,
      }));
      return { outcome: 'written', transactionId, note: unit.note, records };
    },
  };
}

const claim = { claim: Buffer.alloc(32, 1), fingerprint: 's1:x', acceptable: ['s1:x'] };

describe('writing records', () => {
  it('assigns missing ids, writes the rest as it is, and returns the number of stripped members', async () => {
    const ledger = fakeLedger();
    const outcome = await writeRecords(
      ledger,
      order([submitted({ data: '{"a":{},"b":1}' }), submitted({ id: 'own', owner: 'o', extra: '{"y":2,"z":1}' })], {
        strippedFields: 3,
      }),
    );
    expect(ledger.units[0]!.records).toEqual([
      { id: 'made-0', type: 'unknown', owner: null, data: '{"a":{},"b":1}', extra: null, channels: ['main'] },
      { id: 'own', type: 'unknown', owner: 'o', data: '{}', extra: '{"y":2,"z":1}', channels: ['main'] },
    ]);
    expect(ledger.units[0]!.note).toBe('["evt_1",1,3]');
    expect(ledger.units[0]!.event).toEqual({
      eventId: 'evt_1',
      units: 1,
      strippedFields: 3,
      keyId: 'key_1',
      requestId: 'req',
      types: ['unknown'],
    });
    expect(outcome).toMatchObject({
      strippedFields: 3,
      recordCount: 2,
      transactionIds: ['tx-acme.main'],
      replayed: false,
      eventId: 'evt_1',
    });
  });

  it('writes one transaction per channel in name order, each with a claim of its own, and answers in record order', async () => {
    const ledger = fakeLedger();
    const outcome = await writeRecords(
      ledger,
      order([submitted({ targetChannels: ['b', 'a'] }), submitted({ targetChannels: ['b'] })], { claim }),
    );
    expect(ledger.units.map(({ channel }) => channel)).toEqual(['acme.a', 'acme.b']);
    expect(ledger.units[0]!.claim).toEqual(claim);
    expect(ledger.units[1]!.claim!.claim).not.toEqual(claim.claim);
    expect(outcome.records.map(({ id, channel }) => [id, channel])).toEqual([
      ['made-0', 'acme.a'],
      ['made-0', 'acme.b'],
      ['made-1', 'acme.b'],
    ]);
    expect(outcome.recordCount).toBe(2);
    expect(outcome.transactionIds).toEqual(['tx-acme.a', 'tx-acme.b']);
  });

  it('continues under the event of the replayed first transaction', async () => {
    const note = '["evt_first",2,5]';
    const replayed: UnitResult = {
      outcome: 'replayed',
      transactionId: 'tx',
      note,
      records: [{ id: 'made-0', channel: 'acme.a', transactionId: 'tx', existing: false }],
    };
    const ledger = fakeLedger([replayed]);
    const outcome = await writeRecords(ledger, order([submitted({ targetChannels: ['a', 'b'] })], { claim }));
    expect(ledger.units[1]!.note).toBe(note);
    expect(ledger.units[1]!.event).toMatchObject({ eventId: 'evt_first', requestId: 'req', types: ['unknown'] });
    expect(outcome).toMatchObject({ eventId: 'evt_first', strippedFields: 5, replayed: false });
  });

  it('guards every transaction until one has confirmed its caller, and none after it', async () => {
    const guard = { kind: 'key', id: 'key_1', version: '7' };
    const three = [submitted({ id: 'x', targetChannels: ['a', 'b', 'main'] })];
    const fresh = fakeLedger();
    await writeRecords(fresh, order(three, { claim, guard }));
    expect(fresh.units.map((unit) => unit.guard)).toEqual([guard, undefined, undefined]);

    const begun: UnitResult = {
      outcome: 'replayed',
      transactionId: 'tx',
      note: '["evt_first",3,0]',
      records: [],
    };
    const again = fakeLedger([begun]);
    await writeRecords(again, order(three, { claim, guard })).catch(() => undefined);
    expect(again.units.map((unit) => unit.guard)).toEqual([guard, guard, undefined]);

    const stale = fakeLedger([new StaleGuardError('stale')]);
    await expect(writeRecords(stale, order(three, { claim, guard }))).rejects.toMatchObject({
      name: 'StaleGuardError',
    });
    expect(stale.units).toHaveLength(1);
  });

  it('derives its transaction ids from its event, and never from the event of an earlier attempt', async () => {
    const digits = '0123456789abcdef0123456789abcdef';
    const both = [submitted({ id: 'x', targetChannels: ['a', 'b'] })];
    const fresh = fakeLedger();
    await writeRecords(fresh, order(both, { eventId: `evt_${digits}`, claim }));
    expect(fresh.units.map(({ nonce }) => nonce?.toString('hex'))).toEqual([digits, digits]);

    const receipt = { id: 'x', channel: 'acme.a', transactionId: 'tx', existing: false };
    const note = '["evt_first",2,0]';
    const begun: UnitResult = { outcome: 'replayed', transactionId: 'tx', note, records: [receipt] };
    const again = fakeLedger([begun]);
    await writeRecords(again, order(both, { eventId: `evt_${digits}`, claim }));
    expect(again.units.map(({ nonce }) => nonce?.toString('hex'))).toEqual([digits, undefined]);

    const named = fakeLedger();
    await writeRecords(named, order(both, { eventId: 'evt_1', claim }));
    expect(named.units.map(({ nonce }) => nonce)).toEqual([undefined, undefined]);
  });

  it('continues with the ids of the replayed first transaction, where another secret derived them', async () => {
    const replayed: UnitResult = {
      outcome: 'replayed',
      transactionId: 'tx',
      note: '["evt_first",2,5]',
      records: [{ id: 'old-1', channel: 'acme.a', transactionId: 'tx', existing: false }],
    };
    const records = [submitted(), submitted({ targetChannels: ['a', 'b'] }), submitted({ id: 'own' })];
    const otherIds = () => ['other', 'old', 'made'].map((name) => (position: number) => `${name}-${position}`);
    const ledger = fakeLedger([replayed]);
    const { records: receipts } = await writeRecords(ledger, order(records, { claim, otherIds }));
    expect(ledger.units.map((unit) => unit.records.map(({ id }) => id))).toEqual([
      ['made-1'],
      ['old-1'],
      ['old-0', 'own'],
    ]);
    expect(receipts.map(({ id, channel }) => `${id} ${channel}`)).toEqual([
      'old-0 acme.main',
      'old-1 acme.a',
      'old-1 acme.b',
      'own acme.main',
    ]);
  });

  it.each<[string, UnitResult | Error, object]>([
    ['another fingerprint', { outcome: 'reused' }, { code: 'IDEMPOTENCY_KEY_REUSED' }],
    ['other content', { outcome: 'conflict', id: 'x' }, { code: 'RECORD_CONFLICT' }],
    ['an unreachable ledger', new LedgerUnavailableError('gone'), { code: 'LEDGER_UNAVAILABLE', retryAfterSeconds: 1 }],
    [
      'a channel that lost records',
      new ChannelHaltedError('acme.a'),
      {
        code: 'LEDGER_UNAVAILABLE',
        retryAfterSeconds: 1,
        message:
          'Channel acme.a is halted, because records of it that were signed for are missing; nothing was written.',
      },
    ],
    ['a claim in flight', new ClaimInFlightError('held'), { code: 'IDEMPOTENCY_IN_PROGRESS', retryAfterSeconds: 1 }],
    ['a full queue', new LedgerOverloadedError('full'), { code: 'OVERLOADED', retryAfterSeconds: 1 }],
    [
      'no answer in time',
      new OutcomeUnknownError('tx-sent'),
      { code: 'OUTCOME_UNKNOWN', members: { eventId: 'evt_1', transactionIds: ['tx-sent'] } },
    ],
  ])('reports %s', async (_, answer, problem) => {
    await expect(writeRecords(fakeLedger([answer]), order([submitted()]))).rejects.toMatchObject(problem);
  });

  it('reports unknown, not failed, when the ledger is lost after the first of several transactions', async () => {
    const first = fakeLedger();
    const ledger: LedgerAppender = {
      ...first,
      append: (unit) =>
        unit.channel === 'acme.a' ? first.append(unit) : Promise.reject(new LedgerUnavailableError('gone')),
    };
    await expect(writeRecords(ledger, order([submitted({ targetChannels: ['a', 'b'] })]))).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      members: { eventId: 'evt_1', transactionIds: ['tx-acme.a'] },
    });
  });

  it('writes nothing to any channel when one of several has a conflict', async () => {
    const ledger = {
      ...fakeLedger(),
      findConflict: async ({ channel }: AppendUnit) => (channel === 'acme.b' ? 'x' : undefined),
    };
    await expect(
      writeRecords(ledger, order([submitted({ id: 'x', targetChannels: ['a', 'b'] })])),
    ).rejects.toMatchObject({
      code: 'RECORD_CONFLICT',
    });
    expect(ledger.units).toEqual([]);
  });

  it("checks for conflicts under the request's own claim, so that a repeat is answered and not refused", async () => {
    const asked: (Buffer | undefined)[] = [];
    const findConflict = async (unit: AppendUnit) => void asked.push(unit.claim?.claim);
    await writeRecords(
      { ...fakeLedger(), findConflict },
      order([submitted({ targetChannels: ['a', 'b'] })], { claim }),
    );
    expect(asked).toEqual([claim.claim, claim.claim]);
  });

  it('rethrows bugs', async () => {
    const bug = new TypeError('x is not a function');
    await expect(writeRecords(fakeLedger([bug]), order([submitted()]))).rejects.toBe(bug);
  });
});

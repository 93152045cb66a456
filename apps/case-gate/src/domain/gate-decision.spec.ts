import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import type { JsonValue } from '@sealgate/json';
import { checkEntry, CONDITIONS, reasonFor, type LookedUp } from './check-entry.ts';
import type { Entry, EntryFacts } from './check-entry.ts';
import type { GateDecision, GateReason } from './gate-decision.ts';
import { readRecord, recordOf, rowOf, type CurrentDecision, type EligibilityRecord } from './eligibility-record.ts';
import type { Venue } from './venue.ts';

const NOW = Date.parse('2026-06-01T00:00:00.000Z');
const entry: Entry = {
  environment: 'live',
  subjectRef: 'subj_a',
  venueId: 'hall',
  action: 'enter',
  policyVersion: undefined,
};
const current: CurrentDecision = {
  decision: 'approve',
  case_id: 'case_1',
  policy_version: 'p1',
  decision_id: 'dec_1',
  decided_at: '2026-05-01T00:00:00.000Z',
  ledger_record_id: 'ledger_rec_1',
  reason_codes: ['A'],
  venue_ids: ['hall', 'pier'],
  valid_from: '2026-05-01T00:00:00.000Z',
  valid_until: '2026-07-01T00:00:00.000Z',
};
const record: EligibilityRecord = {
  v: 1,
  environment: 'live',
  subject_ref: 'subj_a',
  record_version: 2,
  current,
  suspension: null,
  revocation: null,
  changed_at: '2026-05-01T00:00:00.000Z',
};
const venue: Venue = {
  environment: 'live',
  venue_id: 'hall',
  name: 'Hall',
  active: true,
  record_version: 1,
  created_at: '2026-05-01T00:00:00.000Z',
  updated_at: '2026-05-01T00:00:00.000Z',
};
const good: EntryFacts = { isIntact: true, isConfirmed: true, record, venue, nowMs: NOW };
const restriction = { at: '2026-05-02T00:00:00.000Z', reason: 'x' };

const withRecord = (change: Partial<EligibilityRecord>): EntryFacts => ({ ...good, record: { ...record, ...change } });
const withCurrent = (change: Partial<CurrentDecision>): EntryFacts =>
  withRecord({ current: { ...current, ...change } });

/** For each condition, facts for which only that condition fails. */
const broken: readonly [GateReason, EntryFacts, Partial<Entry>?][] = [
  ['RECORD_INTEGRITY_FAILED', { ...good, isIntact: false }],
  ['SUBJECT_UNKNOWN', { ...good, record: undefined }],
  ['SUBJECT_UNKNOWN', withRecord({ subject_ref: 'subj_b' })],
  ['SUBJECT_UNKNOWN', withRecord({ environment: 'test' })],
  ['ELIGIBILITY_REVOKED', withRecord({ revocation: restriction })],
  ['ELIGIBILITY_SUSPENDED', withRecord({ suspension: restriction })],
  ['ELIGIBILITY_UNCONFIRMED', { ...good, isConfirmed: false }],
  ['NO_SEALED_DECISION', withRecord({ current: null })],
  ['NO_SEALED_DECISION', withCurrent({ ledger_record_id: null })],
  ['INELIGIBLE', withCurrent({ decision: 'decline' })],
  ['INELIGIBLE', withCurrent({ decision: 'decline', ledger_record_id: null })],
  ['ELIGIBILITY_NOT_YET_VALID', withCurrent({ valid_from: new Date(NOW + 1).toISOString() })],
  ['ELIGIBILITY_EXPIRED', withCurrent({ valid_until: new Date(NOW).toISOString() })],
  ['POLICY_VERSION_MISMATCH', good, { policyVersion: 'p2' }],
  ['VENUE_UNKNOWN', { ...good, venue: undefined }],
  ['VENUE_UNKNOWN', { ...good, venue: { ...venue, active: false } }],
  ['VENUE_UNKNOWN', { ...good, venue: { ...venue, environment: 'test' } }],
  ['VENUE_NOT_PERMITTED', withCurrent({ venue_ids: [] })],
  ['VENUE_NOT_PERMITTED', withCurrent({ venue_ids: ['pier'] })],
  ['VENUE_NOT_PERMITTED', good, { action: 'leave' }],
];

describe('the reason of a decision', () => {
  it('is ELIGIBLE if everything holds, also at the limits of time', () => {
    expect(reasonFor(entry, good)).toBe('ELIGIBLE');
    expect(reasonFor({ ...entry, policyVersion: 'p1' }, good)).toBe('ELIGIBLE');
    expect(reasonFor(entry, withCurrent({ valid_from: new Date(NOW).toISOString() }))).toBe('ELIGIBLE');
    expect(reasonFor(entry, withCurrent({ valid_until: new Date(NOW + 1).toISOString() }))).toBe('ELIGIBLE');
    expect(reasonFor(entry, withCurrent({ valid_until: null }))).toBe('ELIGIBLE');
    expect(reasonFor(entry, withCurrent({ venue_ids: ['*'] }))).toBe('ELIGIBLE');
  });

  it.each(broken)('is %s if that does not hold', (reason, facts, change = {}) => {
    expect(reasonFor({ ...entry, ...change }, facts)).toBe(reason);
  });

  it('has a case above for every condition, each of which fails without the condition', () => {
    for (const { reason } of CONDITIONS) {
      const turnedOff = CONDITIONS.map((each) => (each.reason === reason ? { ...each, holds: () => true } : each));
      const cases = broken.filter(([expected]) => expected === reason);
      expect(cases.length).toBeGreaterThan(0);
      const still = cases.filter(
        ([, facts, change = {}]) => reasonFor({ ...entry, ...change }, facts, turnedOff) === reason,
      );
      expect({ reason, still: still.length }).toEqual({ reason, still: 0 });
    }
  });

  it('is the first that applies, in the order of the contract', () => {
    expect(CONDITIONS.map(({ reason }) => reason)).toEqual([
      'RECORD_INTEGRITY_FAILED',
      'SUBJECT_UNKNOWN',
      'ELIGIBILITY_REVOKED',
      'ELIGIBILITY_SUSPENDED',
      'ELIGIBILITY_UNCONFIRMED',
      'NO_SEALED_DECISION',
      'INELIGIBLE',
      'ELIGIBILITY_NOT_YET_VALID',
      'ELIGIBILITY_EXPIRED',
      'POLICY_VERSION_MISMATCH',
      'VENUE_UNKNOWN',
      'VENUE_NOT_PERMITTED',
    ]);
    const all = {
      ...withRecord({ revocation: restriction, suspension: restriction, current: null }),
      venue: undefined,
    };
    expect(reasonFor(entry, all)).toBe('ELIGIBILITY_REVOKED');
  });

  it('accepts only `true` itself as the result of a condition', () => {
    for (const answer of [1, 'true', {}, undefined, null]) {
      const conditions = [{ reason: 'INELIGIBLE' as const, holds: () => answer as boolean }];
      expect(reasonFor(entry, good, conditions)).toBe('INELIGIBLE');
    }
  });
});

function answer(found: LookedUp | undefined, times: readonly number[] = [NOW, NOW], readAtMs = NOW): GateDecision {
  const left = [...times];
  const recorded: GateDecision[] = [];
  const ports = {
    now: () => left.shift() ?? NOW,
    nextDecision: () => ({ decision_id: 'gd_1', seq: 1 }),
    decided: () => undefined,
    record: (decision: GateDecision) => void recorded.push(decision),
    deadlineMs: 250,
  };
  const decision = checkEntry(ports, { entry, found, readAtMs, requester: { keyId: 'key_1', requestId: 'r' } });
  expect(recorded).toEqual([decision]);
  return decision;
}

describe('a decision', () => {
  it('allows if the facts do, and says until when', () => {
    expect(answer(good)).toMatchObject({
      allow: true,
      reason_codes: ['ELIGIBLE'],
      fail_closed: false,
      valid_until: current.valid_until,
    });
  });

  it.each<[GateReason, LookedUp | undefined]>([
    ['BACKEND_UNAVAILABLE', undefined],
    ['BACKEND_UNAVAILABLE', 'unavailable'],
    ['OVERLOADED', 'overloaded'],
    ['RECORD_INTEGRITY_FAILED', { ...good, isIntact: false }],
  ])('denies with %s, and fails closed', (reason, found) => {
    expect(answer(found)).toMatchObject({
      allow: false,
      reason_codes: [reason],
      fail_closed: true,
      valid_until: null,
      ledger_record_id: null,
    });
  });

  it('denies after the deadline, even if the facts would allow', () => {
    expect(answer(good, [NOW, NOW + 249]).allow).toBe(true);
    expect(answer(good, [NOW, NOW + 250])).toMatchObject({
      allow: false,
      reason_codes: ['DEADLINE_EXCEEDED'],
      fail_closed: true,
    });
  });

  it('denies if evaluation throws', () => {
    const hostile = {
      isIntact: true,
      isConfirmed: true,
      venue,
      get record(): EligibilityRecord {
        throw new Error('broken');
      },
    };
    expect(() => answer(hostile)).toThrow();
    const reasonOnly = {
      isIntact: true,
      isConfirmed: true,
      record,
      get venue(): never {
        throw new Error('broken');
      },
    };
    expect(answer(reasonOnly)).toMatchObject({ allow: false, reason_codes: ['INTERNAL_ERROR'], fail_closed: true });
  });
});

const macs = ServerSecrets.parse(`s1:${'k'.repeat(32)}`).derive('test');

/** Every value of a document replaced by every wrong one in turn, and removed. */
function mutants(
  value: JsonValue,
  put: (mutant: JsonValue | undefined) => JsonValue | undefined,
): (JsonValue | undefined)[] {
  const wrong: (JsonValue | undefined)[] = [
    undefined,
    null,
    true,
    false,
    0,
    1,
    -1,
    1.5,
    '',
    'x',
    [],
    {},
    [null],
    { a: 1 },
    '2026',
    'true',
  ];
  const here = wrong.filter((each) => JSON.stringify(each) !== JSON.stringify(value)).map(put);
  if (typeof value !== 'object' || value === null) return here;
  const members = Object.entries(value);
  const inside = members.flatMap(([name, member]) =>
    mutants(member, (mutant) => {
      const copy = Array.isArray(value) ? [...value] : { ...value };
      if (mutant === undefined) delete (copy as Record<string, JsonValue>)[name];
      else (copy as Record<string, JsonValue>)[name] = mutant;
      return put(copy);
    }),
  );
  return [...here, ...inside, put(Array.isArray(value) ? [...value, 7] : { ...value, extra: 1 })];
}

describe('a record', () => {
  it('is read back from its row, but not after any edit of the row', () => {
    const row = rowOf(record, macs);
    expect(recordOf(row, macs)).toEqual(record);
    const edits = {
      environment: 'test',
      subject_ref: 'subj_b',
      record_version: 3,
      status: 'pending',
      document: row.document.replace('"hall"', '"gate"'),
      changed_at: new Date(0).toISOString(),
      mac: rowOf({ ...record, record_version: 1 }, macs).mac,
    };
    for (const [column, value] of Object.entries(edits))
      expect(recordOf({ ...row, [column]: value }, macs)).toBeUndefined();
    for (const mac of ['', 's1:', 's2:abc', 'x', `${row.mac}A`])
      expect(recordOf({ ...row, mac }, macs)).toBeUndefined();
  });

  it('whose row contradicts its document is invalid, even if authenticated', () => {
    const { id, digest } = macs.hash(
      'live',
      'subj_a',
      '2',
      'eligible',
      record.changed_at,
      rowOf({ ...record, record_version: 9 }, macs).document,
    );
    const row = {
      ...rowOf({ ...record, record_version: 9 }, macs),
      record_version: 2,
      mac: `${id}:${digest.toString('base64url')}`,
    };
    expect(recordOf(row, macs)).toBeUndefined();
  });

  it('with anything missing, null or mistyped never allows: more than a thousand mutants', () => {
    // Its texts may be other texts, and its end may be null: those are other valid records, not mutants.
    const all = mutants(record as unknown as JsonValue, (mutant) => mutant);
    let tried = 0;
    for (const mutant of all) {
      const read = readRecord(JSON.stringify(mutant) ?? '');
      tried += 1;
      if (read === undefined) continue;
      const reason = reasonFor(entry, { ...good, record: read });
      const isOtherText = JSON.stringify(shapeOf(read)) === JSON.stringify(shapeOf(record));
      expect({ mutant, reason: isOtherText ? 'other text' : reason }).not.toEqual({ mutant, reason: 'ELIGIBLE' });
    }
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = readRecord(JSON.stringify(value));
        expect(read === undefined ? 'none' : reasonFor(entry, { ...good, record: read })).not.toBe('ELIGIBLE');
        tried += 1;
      }),
      { numRuns: 1000 },
    );
    expect(tried).toBeGreaterThan(1000);
  });
});

/** The types of all values, without the texts; a null end counts as an end. */
function shapeOf(value: unknown, name = ''): unknown {
  if (name === 'valid_until') return 'end';
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'object' || value === null) return typeof value === 'object' ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shapeOf(member, key)]));
}

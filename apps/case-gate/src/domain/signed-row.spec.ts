import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { Type } from '@sinclair/typebox';
import { Time } from '../schemas.ts';
import { caseMac, type Attachment, type CaseRecord, type Decision } from './case-record.ts';
import { rowOf } from './eligibility-record.ts';
import { KEYS, readKey, signedGrants } from './key.ts';
import { readRow } from './model.ts';
import { POLICIES, type Policy } from './policy.ts';
import { decisionMac, sealDocument } from './seal-case.ts';
import { isRowAuthentic, rowMac, rowVersion, type SignedKind } from './signed-row.ts';
import { VENUES, type Venue } from './venue.ts';

const macs = ServerSecrets.parse(`s1:${'k'.repeat(32)}`).derive('m');
const first = '2026-01-01T00:00:00.000Z';
const later = '2026-02-03T04:05:06.007Z';
const times = { created_at: first, updated_at: later };
const venue: Venue = { environment: 'live', venue_id: 'hall', name: 'Hall', active: true, record_version: 3, ...times };
const policy: Policy = {
  environment: 'live',
  policy_version: 'p1',
  status: 'active',
  rules: '{"rules":[]}',
  record_version: 2,
  ...times,
};

// Recorded from rows as they are stored: these must verify whatever the code becomes.
describe('the MAC of a stored row stays the same, for', () => {
  it.each<[string, Venue]>([
    ['s1:K-l5R2CPJAEsHgIi9STlquIWPOHEoJ-a5gAFgijJno8', venue],
    ['s1:AfhY_K3tEt74wNLJXzq1ZynniKoIemzLrCVEaeTnrvo', { ...venue, active: false }],
  ])('a venue: %s', (mac, row) => {
    expect(rowMac(VENUES, row, macs)).toBe(mac);
    expect(rowVersion(VENUES, row, mac)).toEqual({
      name: ['venue', 'live', 'hall'],
      type: 'venue.record',
      version: 3,
      data: `{"active":${row.active},"environment":"live","mac":"${mac}","record_version":3,"updated_at":"${later}","v":1,"venue_id":"hall"}`,
    });
  });

  it.each<[string, Policy]>([
    ['s1:vOfPXB0eV4tJyuzhXrpeGSH2S6ShAuT4_VfEccugmTc', policy],
    ['s1:j1lRkrKUJcy3OfO5g5RfOqW6mTV6wdG09qj40j7AnoM', { ...policy, rules: null }],
  ])('a policy version: %s', (mac, row) => {
    expect(rowMac(POLICIES, row, macs)).toBe(mac);
    expect(rowVersion(POLICIES, row, mac)).toEqual({
      name: ['policy', 'live', 'p1'],
      type: 'policy.record',
      version: 2,
      data: `{"environment":"live","mac":"${mac}","policy_version":"p1","record_version":2,"status":"active","updated_at":"${later}","v":1}`,
    });
  });

  it('a subject', () => {
    const none = { current: null, suspension: null, revocation: null };
    const subject = { v: 1, environment: 'live', subject_ref: 'subj_a', record_version: 2 } as const;
    expect(rowOf({ ...subject, ...none, changed_at: first }, macs)).toMatchObject({
      document: `{"changed_at":"${first}","current":null,"environment":"live","record_version":2,"revocation":null,"subject_ref":"subj_a","suspension":null,"v":1}`,
      mac: 's1:NmzszsfmcLbBUebq60W-7XjvwjiNHDNkYfwARJ7rkzQ',
    });
  });

  it('a key', () => {
    const names = { id: 'key_1', owner_id: 'live', family_id: 'key_1', label: 'door', key_prefix: 'gk_aaaaaaaaa' };
    const ends = { expires_at: null, replaces: null, overlap_until: new Date(later), revoked_at: null };
    const columns = { ...names, ...ends, key_hash: Buffer.alloc(32, 7), created_at: new Date(first) };
    const mac = 's1:DKHqyQ0iqyhrqepS250lYJnhKjqtv0NGCvPosoVa6eE';
    const grants = { scopes: ['gate:check'], version: 1, mac };
    const { row } = readKey(columns, grants);
    expect(signedGrants(row, macs)).toEqual(grants);
    expect(isRowAuthentic(KEYS, readKey(columns, grants), macs)).toBe(true);
    const { name, type, version, data } = rowVersion(KEYS, row, mac);
    expect({ name, type, version }).toEqual({ name: ['key', 'key_1'], type: 'key.record', version: 1 });
    expect(data).toBe(
      `{"environment":"live","expires_at":null,"key_id":"key_1","mac":"${mac}","overlap_until":"${later}","record_version":1,"revoked_at":null,"scopes":["gate:check"],"v":1}`,
    );
  });
});

describe('the MAC stays the same, for', () => {
  const attachments: Attachment[] = [
    {
      attachment_id: 'att_1',
      kind: 'vault_ref',
      ref: 'r',
      sha256: 'a'.repeat(64),
      media_type: 'text/plain',
      size_bytes: 3,
      label: null,
    },
  ];
  const record: CaseRecord = {
    case_id: 'case_m1',
    environment: 'live',
    subject_ref: 'subj_a',
    case_type: 'onboarding',
    status: 'received',
    venue_ids: ['hall'],
    external_ref: null,
    requested_policy_version: 'p1',
    metadata: { b: '1', a: '2' },
    attachment_count: 1,
    policy_version: null,
    decision: null,
    decision_id: null,
    ledger_record_id: null,
    decided_at: null,
    sealed_at: null,
    created_at: first,
    updated_at: later,
    expires_at: later,
  };

  it('what a case is decided by', () => {
    expect(caseMac(record, attachments, macs)).toBe('s1:4XjXTtemN-dLolxgL-omHmFCKngdCKhoT1KJhKdfPow');
  });

  it('a decision', () => {
    const decision: Omit<Decision, 'mac'> = {
      decision_id: 'dec_1',
      case_id: 'case_m1',
      policy_version: 'p1',
      is_final: true,
      decision: 'approve',
      reason_codes: ['A'],
      valid_until: null,
      decided_at: first,
      decided_by: 'key_1',
    };
    const document = sealDocument(record, decision, attachments);
    expect(document).toBe(
      `{"attachments":[{"attachment_id":"att_1","sha256":"${'a'.repeat(64)}"}],"case_id":"case_m1","decided_at":"${first}","decision":"approve","decision_id":"dec_1","environment":"live","policy_version":"p1","reason_codes":["A"],"subject_ref":"subj_a","v":1,"valid_until":null,"venue_ids":["hall"]}`,
    );
    expect(decisionMac(document, macs)).toBe('s1:S7W2i0QZL24KlvT_xv9OsBIsKe_jbcjBeaEjbh3epqk');
  });
});

describe('a column that was added later', () => {
  const model = Type.Object({ ...VENUES.model.properties, closes_at: Type.Optional(Time) });
  const extended: SignedKind<Venue & { readonly closes_at?: string }> = {
    kind: 'venue',
    what: 'venue',
    table: 'venues',
    id: ['environment', 'venue_id'],
    model: model as never,
  };

  it('leaves the MAC of a row without a value as it was, and is covered by that of a row with one', () => {
    const mac = rowMac(VENUES, venue, macs);
    expect(readRow(extended.model, { ...venue, closes_at: null })).toEqual(venue);
    expect(isRowAuthentic(extended, { row: venue, mac }, macs)).toBe(true);
    const closing = { ...venue, closes_at: later };
    expect(isRowAuthentic(extended, { row: closing, mac }, macs)).toBe(false);
    const signed = rowMac(extended, closing, macs);
    expect(isRowAuthentic(extended, { row: closing, mac: signed }, macs)).toBe(true);
    for (const other of [venue, { ...venue, closes_at: first }])
      expect(isRowAuthentic(extended, { row: other, mac: signed }, macs)).toBe(false);
  });

  it('that is a time has one form, however it was sent', () => {
    expect(readRow(extended.model, { ...venue, closes_at: '2026-02-03T06:05:06.0070+02:00' })).toEqual({
      ...venue,
      closes_at: later,
    });
  });
});

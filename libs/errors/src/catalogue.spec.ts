import { describe, expect, it } from '@jest/globals';
import { CATALOGUE } from './catalogue.ts';
import { ITEM_CODES } from './error-code.ts';

/** Copied by hand from the contract, so that a missing code or a changed status is detected. */
const CONTRACT = `
400 INVALID_JSON JSON_TOO_DEEP DUPLICATE_MEMBER UNSAFE_NUMBER INVALID_REQUEST UNKNOWN_PARAMETER INVALID_LIMIT INVALID_CURSOR
400 INVALID_HEADER IDEMPOTENCY_KEY_REQUIRED INVALID_IDEMPOTENCY_KEY
401 UNAUTHENTICATED
403 FORBIDDEN ASSET_TYPE_NOT_ALLOWED ORIGIN_NOT_ALLOWED TLS_REQUIRED
404 NOT_FOUND
405 METHOD_NOT_ALLOWED
406 NOT_ACCEPTABLE
408 REQUEST_TIMEOUT
409 IDEMPOTENCY_IN_PROGRESS RECORD_CONFLICT INVALID_STATE_TRANSITION DECISION_CONFLICT ATTACHMENT_CONFLICT
409 POLICY_VERSION_RETIRED CASE_NOT_DECIDED CASE_NOT_SEALED ALREADY_EXISTS IN_USE LIMIT_REACHED
410 SNAPSHOT_EXPIRED
412 PRECONDITION_FAILED
413 PAYLOAD_TOO_LARGE BATCH_TOO_LARGE
415 UNSUPPORTED_MEDIA_TYPE
422 IDEMPOTENCY_KEY_REUSED IDEMPOTENCY_KEY_MISMATCH UNKNOWN_CHAINCODE UNKNOWN_CHANNEL UNKNOWN_POLICY_VERSION UNKNOWN_VENUE
422 VAULT_BYTES_NOT_ALLOWED PERSONAL_DATA_REFUSED CONTRACT_REFUSED
428 PRECONDITION_REQUIRED
429 RATE_LIMITED
500 INTERNAL
502 UNREADABLE_ANSWER
503 UNAVAILABLE LEDGER_UNAVAILABLE RECORD_ARCHIVED OUTCOME_UNKNOWN OVERLOADED`;

describe('the catalogue', () => {
  it('declares exactly the codes of the contract, each with its status', () => {
    const expected = CONTRACT.trim()
      .split('\n')
      .flatMap((line) => {
        const [status, ...codes] = line.split(' ');
        return codes.map((code) => [code, Number(status)]);
      });
    expect(Object.entries(CATALOGUE).map(([code, entry]) => [code, entry.status])).toEqual(expected);
  });

  it('separates item codes from those of whole responses', () => {
    expect(Object.keys(ITEM_CODES)).toEqual(['NOT_ATTEMPTED']);
    expect(Object.keys(CATALOGUE)).not.toContain('NOT_ATTEMPTED');
  });

  it('gives every code a unique short title and at least one full sentence', () => {
    const entries = [...Object.values(CATALOGUE), ...Object.values(ITEM_CODES)];
    expect(new Set(entries.map((entry) => entry.title)).size).toBe(entries.length);
    for (const entry of entries) {
      expect(entry.title).toMatch(/^[A-Z].{5,60}[^.]$/);
      expect(entry.description).toMatch(/^(?:[A-Z`]).{20,}\.$/);
    }
  });
});

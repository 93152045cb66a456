import { expect } from '@jest/globals';

/** A response, such as supertest's. Header names are in lower case. */
export interface ProblemResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

interface ProblemExpectation {
  /** The faults in order, by location; their details are not compared. */
  readonly errors?: readonly {
    readonly in: 'body' | 'query' | 'header' | 'path' | 'arguments';
    readonly pointer: string;
  }[];
  /** Additional members beyond RFC 9457's and ours; no others are allowed. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly detail?: string | RegExp;
  readonly retryAfterSeconds?: number;
}

/** Written out from the public contract, not taken from the catalogue under test. */
const statuses: readonly (readonly [number, string])[] = [
  [400, 'INVALID_JSON JSON_TOO_DEEP DUPLICATE_MEMBER UNSAFE_NUMBER INVALID_REQUEST UNKNOWN_PARAMETER INVALID_LIMIT'],
  [400, 'INVALID_CURSOR INVALID_HEADER IDEMPOTENCY_KEY_REQUIRED INVALID_IDEMPOTENCY_KEY'],
  [401, 'UNAUTHENTICATED'],
  [403, 'FORBIDDEN ASSET_TYPE_NOT_ALLOWED ORIGIN_NOT_ALLOWED TLS_REQUIRED'],
  [404, 'NOT_FOUND'],
  [405, 'METHOD_NOT_ALLOWED'],
  [406, 'NOT_ACCEPTABLE'],
  [408, 'REQUEST_TIMEOUT'],
  [409, 'IDEMPOTENCY_IN_PROGRESS RECORD_CONFLICT INVALID_STATE_TRANSITION DECISION_CONFLICT ATTACHMENT_CONFLICT'],
  [409, 'POLICY_VERSION_RETIRED CASE_NOT_DECIDED CASE_NOT_SEALED ALREADY_EXISTS IN_USE LIMIT_REACHED'],
  [410, 'SNAPSHOT_EXPIRED'],
  [412, 'PRECONDITION_FAILED'],
  [413, 'PAYLOAD_TOO_LARGE BATCH_TOO_LARGE'],
  [415, 'UNSUPPORTED_MEDIA_TYPE'],
  [422, 'IDEMPOTENCY_KEY_REUSED IDEMPOTENCY_KEY_MISMATCH UNKNOWN_CHAINCODE UNKNOWN_CHANNEL UNKNOWN_POLICY_VERSION'],
  [422, 'UNKNOWN_VENUE VAULT_BYTES_NOT_ALLOWED PERSONAL_DATA_REFUSED CONTRACT_REFUSED'],
  [428, 'PRECONDITION_REQUIRED'],
  [429, 'RATE_LIMITED'],
  [500, 'INTERNAL'],
  [502, 'UNREADABLE_ANSWER'],
  [503, 'UNAVAILABLE LEDGER_UNAVAILABLE RECORD_ARCHIVED OUTCOME_UNKNOWN OVERLOADED'],
];

const statusOf = (code: string): number | undefined =>
  statuses.find(([, codes]) => codes.split(' ').includes(code))?.[0];

/**
 * Checks the whole problem document (RFC 9457 and the contract's own members) and the headers required by its status:
 * Retry-After for 429 and 503, WWW-Authenticate for 401, Allow for 405.
 */
export function expectProblem(response: ProblemResponse, code: string, extra: ProblemExpectation = {}): void {
  const status = statusOf(code);
  if (status === undefined) throw new Error(`The contract has no code ${code}.`);
  const { body, headers } = response;
  expect({ status: response.status, body }).toMatchObject({ status, body: { code, status } });
  expect(headers['content-type']).toMatch(/^application\/problem\+json(; ?charset=utf-8)?$/);
  const { errors, ...rest } = body as Record<string, unknown>; // The match above has checked that it is an object.
  expect(rest).toEqual({
    type: `urn:sealgate:problem:${code.toLowerCase().replaceAll('_', '-')}`,
    title: expect.stringMatching(/\S/),
    status,
    detail: expect.stringMatching(extra.detail ?? /\S/),
    instance: `urn:request:${encodeURIComponent(String(headers['x-request-id']))}`,
    code,
    ...extra.members,
  });
  expectFaults(errors, extra.errors);
  expectHeaders(status, headers, extra.retryAfterSeconds);
  expect(JSON.stringify(body)).not.toMatch(/node_modules|\.ts:\d|\bat .+:\d+:\d+/);
}

function expectFaults(errors: unknown, expected: ProblemExpectation['errors']): void {
  if (errors === undefined) {
    expect(expected ?? []).toEqual([]);
    return;
  }
  expect(errors).toEqual(expect.any(Array));
  for (const fault of errors as unknown[]) {
    expect(fault).toEqual({
      in: expect.stringMatching(/^(body|query|header|path)$/),
      pointer: expect.stringMatching(/^(\/([^~]|~[01])*)?$/),
      detail: expect.stringMatching(/\S/),
    });
  }
  if (expected !== undefined) expect(errors).toMatchObject(expected);
}

function expectHeaders(
  status: number,
  headers: ProblemResponse['headers'],
  retryAfterSeconds: number | undefined,
): void {
  if (status === 429 || status === 503) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
  if (retryAfterSeconds !== undefined) expect(headers['retry-after']).toBe(String(retryAfterSeconds));
  if (status === 401) expect(headers['www-authenticate']).toMatch(/^(Bearer|ApiKey|Signature) realm="sealgate"/);
  if (status === 405) expect(headers['allow']).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
}

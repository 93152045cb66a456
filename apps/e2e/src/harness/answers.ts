import { expect } from '@jest/globals';
import { membersOf } from './admin-client.ts';
import type { HttpAnswer } from './http-exchange.ts';

/** One entry of `records` in the answer to a write. */
export interface Receipt {
  readonly id: string;
  readonly transactionId: string;
  readonly channel: string;
  readonly index: number;
  /** Present once the channel has declared a loss. */
  readonly epoch?: number;
  readonly leafHash: string;
  readonly existing?: true;
}

export interface WriteAnswer {
  readonly transactionIds: readonly string[];
  readonly summary: { readonly total: number; readonly succeeded: number; readonly failed: number };
  readonly eventId: string;
  readonly records: readonly Receipt[];
  readonly strippedFields: number;
}

const hex64 = /^[0-9a-f]{64}$/;

/** Checks that this is a complete answer to a write, and returns it typed. */
export function expectWritten(answer: HttpAnswer): WriteAnswer {
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  expect(answer.headers['content-type']).toBe('application/json');
  const receipt = {
    id: expect.any(String),
    transactionId: expect.stringMatching(hex64),
    channel: expect.stringMatching(/^[a-z0-9-]+\.[a-z0-9-]+$/),
    index: expect.any(Number),
    leafHash: expect.stringMatching(hex64),
  };
  const { records = [], ...rest } = membersOf(answer.body);
  const list = records as unknown[]; // Each entry is checked below.
  const forms = [receipt, { ...receipt, epoch: expect.any(Number) }];
  for (const one of list) expect(forms.flatMap((form) => [form, { ...form, existing: true }])).toContainEqual(one);
  expect(rest).toEqual({
    transactionIds: expect.any(Array),
    summary: { total: expect.any(Number), succeeded: expect.any(Number), failed: 0 },
    eventId: expect.stringMatching(/^evt_[0-9a-zA-Z_-]+$/),
    strippedFields: expect.any(Number),
  });
  return answer.body as WriteAnswer; // Every member is checked above.
}

/** Headers that every answer of every listener has. */
export function expectCommonHeaders({ headers }: HttpAnswer): void {
  expect(headers).toMatchObject({
    'content-security-policy': expect.stringContaining("default-src 'self'"),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'origin-agent-cluster': '?1',
    'referrer-policy': 'no-referrer',
    'strict-transport-security': expect.stringMatching(/^max-age=\d+; includeSubDomains$/),
    'x-content-type-options': 'nosniff',
    'x-dns-prefetch-control': 'off',
    'x-download-options': 'noopen',
    'x-frame-options': 'SAMEORIGIN',
    'x-permitted-cross-domain-policies': 'none',
    'x-xss-protection': '0',
    'x-request-id': expect.stringMatching(/^[\x21-\x7e]{1,128}$/),
  });
  expect(headers['x-powered-by']).toBeUndefined();
}

/** The limits in an answer: the policy and what remains of it. */
export function limitsOf({ headers }: HttpAnswer): { policy: string; burst: number; remaining: number } {
  const policy = /^"(network|key|address)";q=(\d+);w=\d+$/.exec(String(headers['ratelimit-policy']));
  const state = /^"(network|key|address)";r=(\d+);t=\d+$/.exec(String(headers['ratelimit']));
  expect(policy).not.toBeNull();
  expect(state?.[1]).toBe(policy?.[1]);
  return { policy: String(policy?.[1]), burst: Number(policy?.[2]), remaining: Number(state?.[2]) };
}

import { describe, expect, it } from '@jest/globals';
import { expectProblem, type ProblemResponse } from './expect-problem.ts';

const notFound = {
  type: 'urn:sealgate:problem:not-found',
  title: 'Not found',
  status: 404,
  detail: 'No record r1.',
  instance: 'urn:request:a%20b',
  code: 'NOT_FOUND',
};
const headers = { 'content-type': 'application/problem+json; charset=utf-8', 'x-request-id': 'a b' };
const response = (body: object, more: Partial<ProblemResponse> = {}): ProblemResponse => ({
  status: 404,
  headers,
  body: { ...notFound, ...body },
  ...more,
});

describe('expectProblem', () => {
  it('accepts a whole problem document', () => {
    expectProblem(response({}), 'NOT_FOUND');
    expectProblem(response({}), 'NOT_FOUND', { detail: /r1/ });
    expectProblem(response({ eventId: 'evt_1' }), 'NOT_FOUND', { members: { eventId: 'evt_1' } });
  });

  it('accepts faults with their locations', () => {
    const errors = [{ in: 'body', pointer: '/a~1b/0', detail: 'must be a string' }];
    const invalid = response({
      type: 'urn:sealgate:problem:invalid-request',
      code: 'INVALID_REQUEST',
      status: 400,
      errors,
    });
    expectProblem({ ...invalid, status: 400 }, 'INVALID_REQUEST', { errors: [{ in: 'body', pointer: '/a~1b/0' }] });
    expect(() =>
      expectProblem({ ...invalid, status: 400 }, 'INVALID_REQUEST', { errors: [{ in: 'body', pointer: '/c' }] }),
    ).toThrow();
  });

  it.each([
    ['another status line', response({}, { status: 400 })],
    ['another status member', response({ status: 400 })],
    ['another code', response({ code: 'FORBIDDEN' })],
    ['another type', response({ type: 'about:blank' })],
    ['an empty title', response({ title: '' })],
    ['an empty detail', response({ detail: ' ' })],
    ['an instance that is not the request id', response({ instance: 'urn:request:other' })],
    ['an unexpected member', response({ stack: 'x' })],
    ['an invalid pointer', response({ errors: [{ in: 'body', pointer: 'a', detail: 'x' }] })],
    ['an unknown fault location', response({ errors: [{ in: 'cookie', pointer: '/a', detail: 'x' }] })],
    ['a stack in the text', response({ detail: 'failed at run (/app/x.ts:10:2)' })],
    ['another media type', response({}, { headers: { ...headers, 'content-type': 'application/json' } })],
    ['no body', { status: 404, headers, body: undefined }],
  ])('refuses %s', (_, wrong) => {
    expect(() => expectProblem(wrong, 'NOT_FOUND')).toThrow();
  });

  it('requires the headers of the status', () => {
    const limited = { type: 'urn:sealgate:problem:rate-limited', code: 'RATE_LIMITED', status: 429 };
    const good = response(limited, { status: 429, headers: { ...headers, 'retry-after': '3' } });
    expectProblem(good, 'RATE_LIMITED', { retryAfterSeconds: 3 });
    expect(() => expectProblem(good, 'RATE_LIMITED', { retryAfterSeconds: 4 })).toThrow();
    expect(() => expectProblem(response(limited, { status: 429 }), 'RATE_LIMITED')).toThrow();
    const unknown = { type: 'urn:sealgate:problem:unauthenticated', code: 'UNAUTHENTICATED', status: 401 };
    expect(() => expectProblem(response(unknown, { status: 401 }), 'UNAUTHENTICATED')).toThrow();
    const method = { type: 'urn:sealgate:problem:method-not-allowed', code: 'METHOD_NOT_ALLOWED', status: 405 };
    expectProblem(response(method, { status: 405, headers: { ...headers, allow: 'GET, HEAD' } }), 'METHOD_NOT_ALLOWED');
  });

  it('accepts only codes of the contract', () => {
    expect(() => expectProblem(response({}), 'TEAPOT')).toThrow('The contract has no code TEAPOT.');
  });
});

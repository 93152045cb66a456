import { describe, expect, it } from '@jest/globals';
import { AppError } from './app-error.ts';

describe('AppError', () => {
  it('carries the code, its status and the detail, and is an Error', () => {
    const error = new AppError('NOT_FOUND', 'No record r1.');
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('AppError');
    expect(error.code).toBe('NOT_FOUND');
    expect(error.status).toBe(404);
    expect(error.message).toBe('No record r1.');
    expect(error.faults).toEqual([]);
    expect(error.members).toEqual({});
    expect(error.headers).toEqual({});
    expect(error.retryAfterSeconds).toBeUndefined();
    expect('cause' in error).toBe(false);
  });

  it('keeps faults, members, headers and the cause', () => {
    const cause = new Error('cut');
    const faults = [{ in: 'query', pointer: '/limit', detail: 'It is not a number.' }] as const;
    const error = new AppError('INVALID_LIMIT', 'The limit is not valid.', {
      faults,
      members: { current_status: 'sealed' },
      headers: { Allow: 'GET' },
      cause,
    });
    expect(error.faults).toEqual(faults);
    expect(error.members).toEqual({ current_status: 'sealed' });
    expect(error.headers).toEqual({ Allow: 'GET' });
    expect(error.cause).toBe(cause);
  });

  it('sets a Retry-After of at least one second on every 429 and 503', () => {
    expect(new AppError('RATE_LIMITED', 'Slow down.').retryAfterSeconds).toBe(1);
    expect(new AppError('UNAVAILABLE', 'Away.').retryAfterSeconds).toBe(1);
    expect(new AppError('UNAVAILABLE', 'Away.', { retryAfterSeconds: 0 }).retryAfterSeconds).toBe(1);
    expect(new AppError('CASE_NOT_SEALED', 'Not yet.').retryAfterSeconds).toBeUndefined();
  });

  it('rounds a Retry-After up, because a retry a moment too early is rejected again', () => {
    expect(new AppError('RATE_LIMITED', 'Slow down.', { retryAfterSeconds: 1.001 }).retryAfterSeconds).toBe(2);
    expect(new AppError('IDEMPOTENCY_IN_PROGRESS', 'Wait.', { retryAfterSeconds: 1 }).retryAfterSeconds).toBe(1);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('rejects %p seconds as a programming error', (seconds) => {
    expect(() => new AppError('RATE_LIMITED', 'Slow down.', { retryAfterSeconds: seconds })).toThrow('must be finite');
  });

  it.each(['type', 'title', 'status', 'detail', 'instance', 'code', 'errors'])(
    'refuses a member that would replace %s',
    (member) => {
      expect(() => new AppError('NOT_FOUND', 'Nothing.', { members: { [member]: 1 } })).toThrow('cannot be replaced');
    },
  );
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AppError } from './app-error.ts';
import { ERROR_CODES } from './error-code.ts';
import { problemOf, problemType } from './problem.ts';

describe('problemOf', () => {
  it('writes the members in the order of the contract, with errors before extension members', () => {
    const error = new AppError('INVALID_STATE_TRANSITION', 'The case is sealed.', {
      faults: [{ in: 'body', pointer: '/to', detail: 'It cannot follow.' }],
      members: { current_status: 'sealed' },
    });
    expect(JSON.stringify(problemOf(error, 'req-1'))).toBe(
      '{"type":"urn:sealgate:problem:invalid-state-transition","title":"The state does not allow this","status":409,' +
        '"detail":"The case is sealed.","instance":"urn:request:req-1","code":"INVALID_STATE_TRANSITION",' +
        '"errors":[{"in":"body","pointer":"/to","detail":"It cannot follow."}],"current_status":"sealed"}',
    );
  });

  it('omits errors if there are no faults', () => {
    expect(Object.keys(problemOf(new AppError('NOT_FOUND', 'Nothing.'), 'r'))).toEqual([
      'type',
      'title',
      'status',
      'detail',
      'instance',
      'code',
    ]);
  });

  it('never reveals the cause or the stack', () => {
    const error = new AppError('INTERNAL', 'Something went wrong.', { cause: new Error('select * from secrets') });
    expect(JSON.stringify(problemOf(error, 'r'))).not.toMatch(/select|at .*:\d+/);
  });

  it('percent-encodes the request id', () => {
    expect(problemOf(new AppError('NOT_FOUND', 'Nothing.'), 'a b/ü?#%').instance).toBe(
      'urn:request:a%20b%2F%C3%BC%3F%23%25',
    );
  });

  it('makes a URN of every request id, and keeps a visible ASCII one unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (requestId) => {
        const { instance } = problemOf(new AppError('NOT_FOUND', 'Nothing.'), requestId);
        expect(instance).toMatch(/^urn:request:[A-Za-z0-9\-_.!~*'()%]*$/);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (requestId) => {
        const { instance } = problemOf(new AppError('NOT_FOUND', 'Nothing.'), requestId);
        expect(decodeURIComponent(instance.slice('urn:request:'.length))).toBe(requestId);
      }),
    );
  });
});

describe('problemType', () => {
  it('is the code in kebab case, and different for every code', () => {
    expect(problemType('INVALID_IDEMPOTENCY_KEY')).toBe('urn:sealgate:problem:invalid-idempotency-key');
    expect(new Set(ERROR_CODES.map(problemType)).size).toBe(ERROR_CODES.length);
  });
});

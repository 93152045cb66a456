import { describe, expect, it } from '@jest/globals';
import { ProblemError } from '../shell/problem.ts';
import { faultsOf, filled } from './form-faults.ts';

const problem = (errors: { in: string; pointer?: string; detail: string }[]) =>
  new ProblemError({ title: 'Invalid', status: 400, code: 'INVALID_REQUEST', errors });

describe('faults of a service', () => {
  it('are at the field that the pointer names, and at the whole of which it is a part', () => {
    const error = problem([
      { in: 'body', pointer: '/limits/burst', detail: 'Too small.' },
      { in: 'body', pointer: '/channels/1', detail: 'Not a name.' },
    ]);
    expect(faultsOf(error)).toEqual({
      limits: 'Too small.',
      'limits.burst': 'Too small.',
      channels: 'Not a name.',
      'channels.1': 'Not a name.',
    });
  });

  it('are found by a member whose name has a slash or a tilde', () => {
    expect(faultsOf(problem([{ in: 'body', pointer: '/a~1b~0c', detail: 'No.' }]))).toEqual({ 'a/b~c': 'No.' });
  });

  it('are sentences', () => {
    expect(faultsOf(problem([{ in: 'body', pointer: '/a', detail: 'must not be empty' }]))).toEqual({
      a: 'Must not be empty.',
    });
  });

  it('of a form that is a part of the body are those of that part', () => {
    const error = problem([
      { in: 'body', pointer: '/secrets/1/value', detail: 'Too short.' },
      { in: 'body', pointer: '/secrets/10/id', detail: 'Taken.' },
    ]);
    expect(faultsOf(error, '/secrets/1')).toEqual({ value: 'Too short.' });
  });

  it('are none of a fault without a pointer, and of an error that is no problem', () => {
    expect(faultsOf(problem([{ in: 'header', detail: 'Missing.' }]))).toEqual({});
    expect(faultsOf(new Error('Lost'))).toEqual({});
  });
});

it('a field of spaces or without an entry is not filled', () => {
  expect([filled('  '), filled([]), filled('a'), filled(['a'])]).toEqual([
    'Fill this in.',
    'Fill this in.',
    null,
    null,
  ]);
});

import { describe, expect, it } from '@jest/globals';
import { readSubmission, type ReadingRules } from './read-submission.ts';

const envelope: ReadingRules = { record: 'envelope', maxBatchRecords: 100 };
const read = (text: string, rules = envelope) => readSubmission(Buffer.from(text), rules);
const plain = { id: undefined, type: 'unknown', owner: null, data: '{}', extra: null, targetChannels: undefined };

describe('reading a body', () => {
  it('strips data and the members beside it, and makes both canonical', () => {
    const text =
      '{"assets":[{"data":{"b":1.0,"a":{"cvv":2},"password":3},"ssn":4},{"id":"own","data":{},"z":1,"y":[2]}]}';
    expect(read(text)).toEqual({
      kind: 'write',
      records: [
        { ...plain, data: '{"a":{},"b":1}' },
        { ...plain, id: 'own', extra: '{"y":[2],"z":1}' },
      ],
      strippedFields: 3,
    });
  });

  it('counts stripped members wherever they are, and keeps no empty extra', () => {
    expect(read('{"data":{"x":[{"SSN":1}]},"PassWord":{"cvv":1}}')).toEqual({
      kind: 'write',
      records: [{ ...plain, data: '{"x":[{}]}' }],
      strippedFields: 2,
    });
    expect(read('[1,{"cvv":1}]')).toEqual({
      kind: 'write',
      records: [{ ...plain, data: '{"value":[1,{}]}' }],
      strippedFields: 1,
    });
  });

  it('recognises a ping, and a key that stores records whole', () => {
    expect(read('{"type":"ping"}')).toEqual({ kind: 'ping' });
    const whole: ReadingRules = { record: 'whole', defaultType: 'github', maxBatchRecords: 100 };
    expect(read('{"id":7,"data":"text"}', whole)).toEqual({
      kind: 'write',
      records: [{ ...plain, type: 'github', data: '{"data":"text","id":7}' }],
      strippedFields: 0,
    });
  });

  it.each([
    ['{"id":7,', 'INVALID_JSON', ''],
    ['{"id":7,"id":8}', 'DUPLICATE_MEMBER', '/id'],
    ['{"id":7,"n":1e400}', 'UNSAFE_NUMBER', '/n'],
    [`{"id":7,"n":${'['.repeat(64)}${']'.repeat(64)}}`, 'JSON_TOO_DEEP', `/n${'/0'.repeat(63)}`],
    ['{"id":7}', 'INVALID_REQUEST', '/id'],
  ])('refuses %s: JSON errors first, then the shape', (text, code, pointer) => {
    const faults = [expect.objectContaining({ in: 'body', pointer })];
    expect(() => read(text)).toThrow(expect.objectContaining({ code, faults }));
  });

  it('refuses more records than the limit', () => {
    expect(() => read('{"assets":[1,2,3]}', { ...envelope, maxBatchRecords: 2 })).toThrow(
      expect.objectContaining({ code: 'BATCH_TOO_LARGE' }),
    );
  });
});

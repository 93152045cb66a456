import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';
import type { KeyGrants } from './caller.ts';
import { parseSubmission } from './parse-record.ts';

const envelope: KeyGrants = { record: 'envelope' };
const read = (body: JsonValue, grants = envelope) => parseSubmission(body, grants, 100);
const plain = { id: undefined, type: 'unknown', owner: null, data: {}, extra: null, targetChannels: undefined };

function faultsOf(body: JsonValue): string[] {
  try {
    read(body);
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).code).toBe('INVALID_REQUEST');
    return ((error as AppError).faults ?? []).map(({ pointer }) => pointer);
  }
  throw new Error('The body was taken.');
}

describe('the kind of a body', () => {
  it('a ping: type is exactly "ping" and there are no assets', () => {
    expect(read({ type: 'ping', id: 7 })).toEqual({ kind: 'ping' });
    expect(read({ type: 'Ping' })).toEqual({ kind: 'write', records: [{ ...plain, type: 'Ping' }] });
    expect(faultsOf({ type: 'ping', assets: [{}] })).toEqual(['/type']);
  });

  it('a record: the other members are data where there is none, and extra where there is', () => {
    expect(read({ id: 'a', type: 't', owner: 'o', x: 1 })).toEqual({
      kind: 'write',
      records: [{ ...plain, id: 'a', type: 't', owner: 'o', data: { x: 1 } }],
    });
    expect(read({ data: { y: 2 }, x: 1, targetChannels: ['b', 'a'] })).toEqual({
      kind: 'write',
      records: [{ ...plain, data: { y: 2 }, extra: { x: 1 }, targetChannels: ['b', 'a'] }],
    });
    expect(read({})).toEqual({ kind: 'write', records: [plain] });
  });

  it.each<[JsonValue]>([[[1, 2]], ['text'], [7], [null], [false]])('bare JSON: %j', (body) => {
    expect(read(body)).toEqual({ kind: 'write', records: [{ ...plain, data: { value: body } }] });
  });

  it('a batch: elements of any form, bare JSON included', () => {
    const submission = read({ assets: [{ id: 'a', n: 1 }, [3], { type: 'ping' }] });
    expect(submission).toEqual({
      kind: 'write',
      records: [
        { ...plain, id: 'a', data: { n: 1 } },
        { ...plain, data: { value: [3] } },
        { ...plain, type: 'ping' },
      ],
    });
  });

  it('a whole record, for a key with that setting: its members have no meaning', () => {
    const whole: KeyGrants = { record: 'whole', defaultType: 'github' };
    const body = { id: 7, data: 'text', type: ['x'], targetChannels: 'no' };
    expect(read(body, whole)).toEqual({ kind: 'write', records: [{ ...plain, type: 'github', data: body }] });
    expect(read({ type: 'ping' }, whole)).toEqual({ kind: 'ping' });
    expect(read({ assets: [{ n: 1 }] }, whole)).toEqual({ kind: 'write', records: [{ ...plain, data: { n: 1 } }] });
    expect(read({}, { record: 'whole' })).toEqual({ kind: 'write', records: [plain] });
  });
});

describe('shapes that are refused, all faults at once', () => {
  it.each<[string, JsonValue, string[]]>([
    ['an id that is a number', { id: 7 }, ['/id']],
    ['an empty id', { id: '' }, ['/id']],
    ['an id that is a dot segment', { assets: [{ id: '.' }, { id: '..' }] }, ['/assets/0/id', '/assets/1/id']],
    ['an id with a control character', { id: 'a\u007f' }, ['/id']],
    ['an id that is too long', { id: 'x'.repeat(257) }, ['/id']],
    ['a null type', { type: null }, ['/type']],
    ['a type that is too long', { type: 'x'.repeat(129) }, ['/type']],
    ['an owner that is an object', { owner: {} }, ['/owner']],
    ['data that is an array', { data: [] }, ['/data']],
    ['data that is null', { data: null }, ['/data']],
    ['no channel', { targetChannels: [] }, ['/targetChannels']],
    ['nine channels', { targetChannels: [...'abcdefghi'] }, ['/targetChannels']],
    ['a channel twice', { targetChannels: ['a', 'b', 'a'] }, ['/targetChannels/2']],
    ['a channel that is a number', { targetChannels: [1] }, ['/targetChannels/0']],
    ['several', { id: 1, type: 2, owner: 3, data: 4 }, ['/id', '/type', '/owner', '/data']],
    ['assets that are no array', { assets: {} }, ['/assets']],
    ['an empty batch', { assets: [] }, ['/assets']],
    ['a member beside assets', { assets: [{}], 'a/b~': 1 }, ['/a~1b~0']],
    ['faults in elements', { assets: [{ id: 1 }, { type: '' }] }, ['/assets/0/id', '/assets/1/type']],
    ['an id twice', { assets: [{ id: 'a' }, {}, { id: 'a' }] }, ['/assets/2/id']],
  ])('%s', (_, body, pointers) => {
    expect(faultsOf(body)).toEqual(pointers);
  });

  it('counts code points: 256 of them outside the BMP are one id', () => {
    expect(read({ id: '😀'.repeat(256) })).toMatchObject({ kind: 'write' });
    expect(faultsOf({ id: '😀'.repeat(257) })).toEqual(['/id']);
  });

  it('refuses 101 records as a batch that is too large, and takes 100', () => {
    expect(read({ assets: Array.from({ length: 100 }, () => ({})) })).toMatchObject({ kind: 'write' });
    expect(() => read({ assets: Array.from({ length: 101 }, () => ({})) })).toThrow(
      expect.objectContaining({ code: 'BATCH_TOO_LARGE' }),
    );
  });
});

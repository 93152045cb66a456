import { ServerSecrets } from '@sealgate/auth';
import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import fc from 'fast-check';
import { cursorCodec } from './cursor-codec.ts';

const oldSecret = `old:${'o'.repeat(32)}`;
const newSecret = `new:${'n'.repeat(32)}`;
const hasherOf = (secrets: string, purpose = 'cursors') => ServerSecrets.parse(secrets).derive(purpose);
const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const binding = ['risks.v1', 'org-1', 'person-1', 'status=open'];
const position = ['2026-01-01T00:00:00.000Z', 'rsk_01'];
const codec = cursorCodec({ hasher: hasherOf(oldSecret), now: () => START_MS });
const invalid = expect.objectContaining({ code: 'INVALID_CURSOR', status: 400 });

/** A cursor with this content and a valid HMAC, so that only the content can be rejected. */
function signed(content: string): string {
  const json = Buffer.from(content);
  return Buffer.concat([json, hasherOf(oldSecret).hash(...binding, json).digest]).toString('base64url');
}

describe('a cursor', () => {
  it('is the base64url of JSON with key id, expiry and position, and of its HMAC', () => {
    const cursor = codec.make(binding, position);
    const json = `{"k":"old","e":${START_MS + DAY_MS},"p":["2026-01-01T00:00:00.000Z","rsk_01"]}`;
    expect(cursor).toBe(signed(json));
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(cursor.length).toBeLessThanOrEqual(512);
  });

  it('has the same length at any time', () => {
    const clocked = cursorCodec({ hasher: hasherOf(oldSecret), now: () => START_MS + 0.1234 });
    expect(clocked.make(binding, position)).toBe(codec.make(binding, position));
  });

  it('returns every position under its binding', () => {
    const roomy = cursorCodec({ hasher: hasherOf(oldSecret), now: () => START_MS, maxBytes: 100_000 });
    fc.assert(
      fc.property(fc.array(fc.string()), fc.jsonValue(), (anyBinding, value) => {
        const text = JSON.stringify(value);
        const cursor = roomy.make(anyBinding, JSON.parse(text) as JsonValue);
        expect(JSON.stringify(roomy.read(anyBinding, cursor))).toBe(text);
      }),
    );
  });

  it('is rejected under any other binding', () => {
    const cursor = codec.make(binding, position);
    for (const other of [
      [],
      binding.slice(0, -1),
      [...binding, ''],
      ['risks.v1', 'org-1', 'person-2', 'status=open'],
      ['risks.v1', 'org-1person-1', '', 'status=open'],
    ]) {
      expect(() => codec.read(other, cursor)).toThrow(invalid);
    }
  });

  it('is valid for a day, and not at the moment it expires', () => {
    let nowMs = START_MS;
    const clocked = cursorCodec({ hasher: hasherOf(oldSecret), now: () => nowMs });
    const cursor = clocked.make(binding, position);
    nowMs = START_MS + DAY_MS - 1;
    expect(clocked.read(binding, cursor)).toEqual(position);
    nowMs = START_MS + DAY_MS;
    expect(() => clocked.read(binding, cursor)).toThrow(invalid);
  });

  it('survives a rotation of secrets until the old one is removed', () => {
    const cursor = codec.make(binding, position);
    const now = () => START_MS;
    expect(cursorCodec({ hasher: hasherOf(`${newSecret},${oldSecret}`), now }).read(binding, cursor)).toEqual(position);
    expect(() => cursorCodec({ hasher: hasherOf(newSecret), now }).read(binding, cursor)).toThrow(invalid);
    expect(() => cursorCodec({ hasher: hasherOf(oldSecret, 'claims'), now }).read(binding, cursor)).toThrow(invalid);
  });

  it('is rejected with any one character changed, removed or inserted', () => {
    const cursor = codec.make(binding, position);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.+/ ';
    fc.assert(
      fc.property(
        fc.nat({ max: cursor.length }),
        fc.constantFrom(...alphabet),
        fc.nat({ max: 1 }),
        (at, character, cut) => {
          const changed = cursor.slice(0, at) + character + cursor.slice(at + cut);
          if (changed !== cursor) expect(() => codec.read(binding, changed)).toThrow(invalid);
          if (at < cursor.length) {
            const shorter = cursor.slice(0, at) + cursor.slice(at + 1);
            expect(() => codec.read(binding, shorter)).toThrow(invalid);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each(['x', 'xy', 'xyz'])('has a single encoding: others of the same bytes are rejected (%s)', (text) => {
    const cursor = codec.make(binding, text);
    const bytes = Buffer.from(cursor, 'base64url');
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const alike = [...alphabet]
      .map((last) => cursor.slice(0, -1) + last)
      .filter((other) => other !== cursor && Buffer.from(other, 'base64url').equals(bytes));
    // The last character has four spare bits, two or none, depending on the length modulo three.
    expect(alike).toHaveLength([0, 15, 3][bytes.length % 3] ?? -1);
    for (const other of [...alike, `${cursor}=`, `${cursor}==`, ` ${cursor}`, `${cursor}\n`]) {
      expect(() => codec.read(binding, other)).toThrow(invalid);
    }
  });

  it.each([
    ['nothing', ''],
    ['not base64url', '%%%'],
    ['plain text', 'page-2'],
    ['an HMAC alone', Buffer.alloc(32).toString('base64url')],
    ['bytes that are not JSON', Buffer.alloc(64, 0xff).toString('base64url')],
    ['signed text that is not JSON', signed('{"k":"old",')],
    ['a signed null', signed('null')],
    ['a signed array', signed('[]')],
    ['a signed text', signed('"old"')],
    ['a missing key id', signed(`{"e":${START_MS + 1},"p":1}`)],
    ['a key id that is not text', signed(`{"k":1,"e":${START_MS + 1},"p":1}`)],
    ['an unknown key id', signed(`{"k":"other","e":${START_MS + 1},"p":1}`)],
    ['a missing end', signed('{"k":"old","p":1}')],
    ['an expiry that is not a number', signed('{"k":"old","e":"9999999999999","p":1}')],
    ['a missing position', signed(`{"k":"old","e":${START_MS + 1}}`)],
    ['more than 512 bytes', 'A'.repeat(516)],
  ])('is rejected if it is %s', (_what, cursor) => {
    expect(() => codec.read(binding, cursor)).toThrow(invalid);
  });

  it('is accepted if it is signed and complete, so that the rejections above are meaningful', () => {
    expect(codec.read(binding, signed(`{"k":"old","e":${START_MS + 1},"p":null}`))).toBeNull();
  });

  it('rejects every text with the same error, pointing at the parameter', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(() => codec.read(binding, text)).toThrow(
          expect.objectContaining({
            code: 'INVALID_CURSOR',
            message: 'The cursor does not belong to this list, or it has expired.',
            faults: [expect.objectContaining({ in: 'query', pointer: '/cursor' })],
          }),
        );
      }),
    );
  });

  it('points into the body if it is sent there', () => {
    const inBody = cursorCodec({ hasher: hasherOf(oldSecret), now: () => START_MS, sentIn: 'body' });
    expect(() => inBody.read(binding, 'x')).toThrow(
      expect.objectContaining({ faults: [expect.objectContaining({ in: 'body', pointer: '/cursor' })] }),
    );
  });

  it('cannot exceed the maximum length, which can be configured', () => {
    const long = 'x'.repeat(400);
    expect(() => codec.make(binding, long)).toThrow('too long for a cursor');
    const longer = cursorCodec({ hasher: hasherOf(oldSecret), now: () => START_MS, maxBytes: 2048 });
    expect(longer.read(binding, longer.make(binding, long))).toBe(long);
  });

  it('fits a position of two hundred characters into 512 bytes', () => {
    expect(codec.make(binding, ['2026-01-01T00:00:00.000Z', 'x'.repeat(200)]).length).toBeLessThanOrEqual(512);
  });
});

import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from './server-secrets.ts';

const first = 'first-secret-first-secret-first-';
const second = 'second:secret:second:secret:secon';
const hmac = (key: string | Buffer, ...parts: (string | Buffer)[]) => {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
};

describe('ServerSecrets.derive', () => {
  it('derives the key by HKDF-SHA256 without salt, with the purpose as info (RFC 5869, by hand)', () => {
    const extracted = hmac(Buffer.alloc(32), first);
    const expanded = hmac(extracted, 'sealgate/cursors', Buffer.from([1]));
    const { digest } = ServerSecrets.parse(`s1:${first}`).derive('cursors').hash('x');
    expect(digest).toEqual(hmac(expanded, '1:x'));
  });

  it('hashes with the first secret and verifies with all', () => {
    const before = ServerSecrets.parse(`old:${first}`).derive('cursors');
    const during = ServerSecrets.parse(`new:${second},old:${first}`).derive('cursors');
    const after = ServerSecrets.parse(`new:${second}`).derive('cursors');
    expect(during.currentId).toBe('new');
    expect(during.verify(before.hash('x'), 'x')).toBe(true);
    expect(after.verify(during.hash('x'), 'x')).toBe(true);
    expect(after.verify(before.hash('x'), 'x')).toBe(false);
  });

  it('derives independent keys per purpose', () => {
    const secrets = ServerSecrets.parse(`s1:${first}`);
    const made = secrets.derive('cursors').hash('x');
    expect(secrets.derive('cursors').verify(made, 'x')).toBe(true);
    expect(secrets.derive('claims').verify(made, 'x')).toBe(false);
  });
});

describe('ServerSecrets.parse', () => {
  it('ignores blanks around entries and allows colons in a value', () => {
    const made = ServerSecrets.parse(`s2:${second}`).derive('p').hash('x');
    expect(ServerSecrets.parse(` s1:${first} ,\n s2:${second} `).derive('p').verify(made, 'x')).toBe(true);
  });

  it.each([
    ['', 'entry 1 is empty'],
    [`s1:${first},`, 'entry 2 is empty'],
    [first, 'entry 1 has no id'],
    [`:${first}`, 'entry 1 has no id'],
    [`s 1:${first}`, 'entry 1 has an id with other characters'],
    [
      `${'i'.repeat(33)}:${first}`,
      'entry 1 has an id with other characters than letters, digits, _ and -, or a long one',
    ],
    [`s1:${first.slice(1)}`, 'entry 1 has a value shorter than 32 characters'],
    [`s1:${'x'.repeat(1025)}`, 'entry 1 has a value longer than 1024 characters'],
    [`s1:${first},s1:${second}`, 'entry 2 has the id of an earlier entry'],
    [`s1:${first},s2:${first}`, 'entry 2 has the value of an earlier entry'],
    [Array.from({ length: 17 }, (_, i) => `s${i}:${first}${i}`).join(','), 'there are more than 16 entries'],
  ])('refuses %p', (text, fault) => {
    expect(() => ServerSecrets.parse(text)).toThrow(fault);
  });

  it('lists all faults in one error and never quotes a value', () => {
    const text = `short:abcdef,${first},ok:${second},ok:${first}`;
    let message = '';
    try {
      ServerSecrets.parse(text);
    } catch (error) {
      message = String(error);
    }
    expect(message).toBe(
      'Error: Server secrets must be written id:value,id:value; entry 1 has a value shorter than 32 characters; ' +
        'entry 2 has no id; entry 4 has the id of an earlier entry.',
    );
  });

  it('reveals nothing when printed', () => {
    const secrets = ServerSecrets.parse(`s1:${first}`);
    const shown = inspect([secrets, secrets.derive('p')], { depth: 9, showHidden: true }) + JSON.stringify(secrets);
    expect(shown).not.toContain(first);
  });
});

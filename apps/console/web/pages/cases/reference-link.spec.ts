import { describe, expect, it } from '@jest/globals';
import { addressOf } from './reference-link.ts';

describe('the reference of an attachment', () => {
  it('is a link where it is an https address', () => {
    expect(addressOf('https://vault.example.com/files/1?part=2')).toBe('https://vault.example.com/files/1?part=2');
  });

  it.each([
    'vault/subj_crew_001/passport',
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'http://vault.example.com/1',
    'file:///etc/passwd',
    '//vault.example.com/1',
    'https://reader:secret@vault.example.com/1',
    'https://',
    '',
  ])('is text where it is %j', (reference) => {
    expect(addressOf(reference)).toBeUndefined();
  });
});

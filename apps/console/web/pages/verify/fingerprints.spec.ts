import { describe, expect, it } from '@jest/globals';
import { fingerprintsIn } from './fingerprints.ts';

const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];

describe('the fingerprints in a content', () => {
  it('are members named for SHA-256, at any depth', () => {
    const content = {
      sha256: a,
      attachments: [{ sha256: b, note: c }],
      extra: { bodySha256: c, file_sha256: 'short' },
    };
    expect(fingerprintsIn(content)).toEqual([
      { member: 'sha256', sha256: a },
      { member: 'attachments/0/sha256', sha256: b },
      { member: 'extra/bodySha256', sha256: c },
    ]);
    for (const none of [undefined, null, a, [a], { mysha256: a, hash: b }]) expect(fingerprintsIn(none)).toEqual([]);
  });

  it('are no more than a page can show', () => {
    expect(fingerprintsIn(Array.from({ length: 5_000 }, () => ({ sha256: a })))).toHaveLength(1_000);
  });
});

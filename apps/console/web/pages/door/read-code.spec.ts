import { describe, expect, it } from '@jest/globals';
import encodeQR from 'qr';
import { readCode } from './read-code.ts';

const MODULE_PX = 6;

/** The picture of a code, grey on white as a camera sees it. */
function pictureOf(text: string) {
  const rows = encodeQR(text, 'raw', { border: 4 });
  const width = rows.length * MODULE_PX;
  const data = new Uint8ClampedArray(width * width * 4);
  for (let at = 0; at < width * width; at += 1) {
    const isDark = rows[Math.floor(at / width / MODULE_PX)]![Math.floor((at % width) / MODULE_PX)]!;
    data.fill(isDark ? 60 : 220, at * 4, at * 4 + 3);
    data[at * 4 + 3] = 255;
  }
  return { data, width, height: width };
}

describe('the decoder of camera images', () => {
  it.each(['subj_story', 'https://example.com/pass?s=subj_0123456789abcdef', 'grüß'])('reads %s', (text) => {
    expect(readCode(pictureOf(text))).toBe(text);
  });

  it('finds nothing in an image without a code', () => {
    expect(readCode({ data: new Uint8ClampedArray(64 * 64 * 4).fill(128), width: 64, height: 64 })).toBeUndefined();
  });
});

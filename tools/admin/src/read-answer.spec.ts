import { describe, expect, it } from '@jest/globals';
import { readAnswer } from './read-answer.ts';
import { UnreachableError } from './unreachable-error.ts';

describe('readAnswer', () => {
  it('gives the text, to the byte', async () => {
    expect(await readAnswer(new Response('\ufeffZürich\n'))).toBe('\ufeffZürich\n');
    expect(await readAnswer(new Response(null, { status: 204 }))).toBe('');
  });

  it('refuses what is not UTF-8', async () => {
    await expect(readAnswer(new Response(Uint8Array.of(0x7b, 0xff)))).rejects.toThrow('not UTF-8');
  });

  it('stops reading what has no end', async () => {
    const megabyte = new Uint8Array(1024 * 1024);
    let sentMegabytes = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sentMegabytes += 1;
        controller.enqueue(megabyte);
      },
    });
    await expect(readAnswer(new Response(endless))).rejects.toThrow(UnreachableError);
    expect(sentMegabytes).toBeLessThan(70);
  });
});

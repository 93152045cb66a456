import { describe, expect, it } from '@jest/globals';
import { readAnswer } from './admin-api.ts';
import { UnreachableError } from './errors.ts';

describe('readAnswer', () => {
  it('returns the text unchanged', async () => {
    expect(await readAnswer(new Response('\ufeffZürich\n'))).toBe('\ufeffZürich\n');
    expect(await readAnswer(new Response(null, { status: 204 }))).toBe('');
  });

  it('rejects invalid UTF-8', async () => {
    await expect(readAnswer(new Response(Uint8Array.of(0x7b, 0xff)))).rejects.toThrow('not UTF-8');
  });

  it('stops reading an endless body', async () => {
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

/** What a fetch got is longer than anything that is expected of it. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError';
}

/** The text of an answer. @throws TooLongError past so many bytes, and whatever reading throws. */
export async function boundedText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new TooLongError(`The answer is longer than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}

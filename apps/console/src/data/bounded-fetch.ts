/** The response is longer than the limit. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError';
}

/** Reads the text of a response. @throws TooLongError beyond the limit, and any error of reading. */
export async function boundedText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new TooLongError(`The response is longer than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}

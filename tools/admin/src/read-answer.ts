import { UnreachableError } from './unreachable-error.ts';

/** Far above the largest page that an admin API serves. */
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/** The body as text. Throws UnreachableError when it is longer than any answer of an admin API, or not UTF-8. */
export async function readAnswer(response: Response): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body) {
    sizeBytes += chunk.length;
    if (sizeBytes > ANSWER_MAX_BYTES) throw new UnreachableError('The answer is longer than any of an admin API.');
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new UnreachableError('The answer is not UTF-8 text, so it is not that of an admin API.');
  }
}

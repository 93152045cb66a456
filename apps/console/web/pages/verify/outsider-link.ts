import { canonical, type JsonValue } from '@sealgate/json';
import type { ReceiptFile } from '@sealgate/verify/checks';
import * as texts from './file-texts.ts';

const NAME = '#proof=';
/** Far above every proof, and below what browsers keep of an address. */
const MAX_CHARACTERS = 1_000_000;
const MAX_BYTES = 2_000_000;

/**
 * The fragment of a link that carries a proof: receipt and inclusion path, without the content. Browsers send no
 * fragment to a server, and it gives nobody a right.
 */
export async function fragmentOf({ receipt, proof }: ReceiptFile): Promise<string> {
  const { network, channel, id, type, owner, dataHash, salt, extra, transactionId, at, index, epoch } = receipt;
  const members = { network, channel, id, type, owner, dataHash, salt, extra, transactionId, at, index };
  const shown = { receipt: { ...members, ...(epoch !== undefined && { epoch }) }, proof };
  const text = canonical(shown as unknown as JsonValue); // Both were read from JSON.
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return NAME + base64url(new Uint8Array(await new Response(packed).arrayBuffer()));
}

export const hasProof = (fragment: string): boolean => fragment.startsWith(NAME);

/** The proof that a fragment carries; undefined if it carries none. Throws an Error for people if it is damaged. */
export async function proofIn(fragment: string): Promise<Uint8Array | undefined> {
  if (!hasProof(fragment)) return undefined;
  const text = fragment.slice(NAME.length);
  if (text.length > MAX_CHARACTERS || !/^[A-Za-z0-9_-]+$/.test(text)) throw new Error(texts.damaged);
  try {
    return await inflated(Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), codeOf));
  } catch (cause) {
    throw new Error(texts.damaged, { cause });
  }
}

/** Stops at the limit: a few bytes can unpack to any number. */
async function inflated(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > MAX_BYTES) {
      await reader.cancel();
      throw new Error(texts.itIsTooLong);
    }
    parts.push(new Uint8Array(value));
  }
}

const codeOf = (character: string): number => character.charCodeAt(0);

function base64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

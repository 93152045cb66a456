import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';

/** Members that carry bytes, in lower case. */
const INLINE_MEMBERS: ReadonlySet<string> = new Set(['data', 'content', 'bytes', 'base64', 'body', 'file']);
const DATA_URI = /^\s*data:/i;

/**
 * Refuses a request that carries bytes instead of pointing at the vault: in a member of such a name, in any case and at
 * any depth, or as a `data:` URI. The walk is as deep as strict JSON lets a body be.
 * @throws AppError VAULT_BYTES_NOT_ALLOWED, with the place of each.
 */
export function refuseVaultBytes(body: JsonValue): void {
  const pointers: string[] = [];
  walk(body, '', pointers);
  if (pointers.length === 0) return;
  throw new AppError('VAULT_BYTES_NOT_ALLOWED', 'Bytes stay in the vault: send a reference and a hash.', {
    faults: pointers.map((pointer) => ({ in: 'body', pointer, detail: 'Bytes are not taken here.' })),
  });
}

/** More places than this help nobody. */
const MOST_TOLD = 100;

function walk(value: JsonValue, pointer: string, found: string[]): void {
  if (found.length >= MOST_TOLD) return;
  if (typeof value === 'string') {
    if (DATA_URI.test(value)) found.push(pointer);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    value.forEach((item, index) => walk(item, `${pointer}/${index}`, found));
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const place = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (INLINE_MEMBERS.has(name.toLowerCase())) found.push(place);
    else walk(member, place, found);
  }
}

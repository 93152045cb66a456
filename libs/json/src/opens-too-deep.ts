import { MAX_DEPTH } from './json-value.ts';

/**
 * Whether brackets go deeper than allowed within the first so many bytes. Where they do, `parseStrict` refuses the body,
 * for that or for something before it, and walks no further than there: to refuse it costs little, however long it is.
 * Costs a nanosecond or two for each byte looked at.
 */
export function opensTooDeep(bytes: Uint8Array, withinBytes: number): boolean {
  const end = Math.min(bytes.length, withinBytes);
  let depth = 0;
  let inString = false;
  for (let at = 0; at < end; at++) {
    const byte = bytes[at];
    if (byte === 0x22 /* " */) inString = !inString;
    else if (inString) at += byte === 0x5c /* \ */ ? 1 : 0;
    else if (byte === 0x5b /* [ */ || byte === 0x7b /* { */) depth++;
    else if (byte === 0x5d /* ] */ || byte === 0x7d /* } */) depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

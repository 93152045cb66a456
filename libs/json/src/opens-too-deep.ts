/** Maximum nesting of arrays and objects in a body; the outermost is level 1. Scalars add no level. */
export const MAX_DEPTH = 64;

/**
 * True when brackets nest deeper than allowed within the first `withinBytes` bytes. `parseStrict` then refuses the body
 * at or before that point, so the refusal is cheap for any length. Costs one or two nanoseconds per byte examined.
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

import { AppError } from '@sealgate/errors';
import type { JsonValue } from '@sealgate/json';

// How much a signed body may become, whose own size is bounded already.

/** Of a body above `MANY_VALUES_BYTES`: parsed they take up to a hundred bytes each. */
const MOST_VALUES = 500_000;
const MANY_VALUES_BYTES = 1_048_576;
/** Of the content in canonical JSON, in which a quote takes two characters and a control character six. */
const MOST_CHARACTERS = 40 * 1_048_576;
const MOST_CHARACTERS_OF_ONE = 6;

const [QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, OPEN_BRACE] = Buffer.from('"\\,[{');

/** Whether a large body has more than `MOST_VALUES` values of JSON, as its commas and openings outside strings tell. */
export function hasTooManyValues(bytes: Uint8Array): boolean {
  if (bytes.length <= MANY_VALUES_BYTES) return false;
  let values = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length && values <= MOST_VALUES; at += 1) {
    const byte = bytes[at];
    if (isInString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) values += 1;
  }
  return values > MOST_VALUES;
}

/**
 * Measures what JSON makes of the texts of a body of so many bytes, before it is made: they may become six times as long.
 * @throws AppError PAYLOAD_TOO_LARGE
 */
export function requireFits(data: { readonly [member: string]: JsonValue }, bodyBytes: number): void {
  if (bodyBytes * MOST_CHARACTERS_OF_ONE <= MOST_CHARACTERS) return;
  let characters = 0;
  for (const value of Object.values(data).flat())
    if (typeof value === 'string') characters += value.length + escapesIn(value);
  if (characters <= MOST_CHARACTERS) return;
  throw new AppError('PAYLOAD_TOO_LARGE', `In JSON its content is more than ${MOST_CHARACTERS} characters.`);
}

/** Characters that JSON adds to a text. */
function escapesIn(text: string): number {
  let added = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20) added += MOST_CHARACTERS_OF_ONE - 1;
    else if (code === 0x22 || code === 0x5c) added += 1;
  }
  return added;
}

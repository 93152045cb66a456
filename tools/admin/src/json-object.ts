import type { JsonValue } from '@sealgate/json';

export type JsonObject = { readonly [member: string]: JsonValue };

export function isObject(value: JsonValue | undefined): value is { [member: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text itself where it is one, else nothing. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The value in the text, or undefined when it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined; // The caller says what should have been there.
  }
}

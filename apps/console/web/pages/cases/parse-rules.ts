import { AppError } from '@sealgate/errors';
import { Bytes, parseStrict, type JsonValue } from '@sealgate/json';
import * as texts from './policy-texts.ts';

type Parsed =
  /** Null: a version without rules. */
  { readonly rules: JsonValue; readonly fault?: undefined } | { readonly rules?: undefined; readonly fault: string };

/** The rules as typed; an empty text is a version without rules. A fault names its place. */
export function parseRules(text: string): Parsed {
  if (text.trim() === '') return { rules: null };
  try {
    return { rules: parseStrict(Bytes.from(text)) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const pointer = error.faults[0]?.pointer;
    const words = error.message.replace('The body', 'The JSON');
    return { fault: pointer ? texts.faultAt(words, pointer) : words };
  }
}

export const rulesText = (rules: unknown): string => (rules === null ? '' : JSON.stringify(rules, null, 2));

import { canonical, type JsonValue } from '@sealgate/json';

/** A place in an argument that a call fills in: `{id}`, `{data.color|"red"}`. */
export interface Placeholder {
  /** `id`, `type`, `data`, `assets`, `limit`, `bookmark`, `collection`, `data.<member>` or `filter.<name>`. */
  readonly name: string;
  /** Stands in for a member or filter that is missing. */
  readonly fallback: JsonValue | undefined;
}

const PLACEHOLDER = /^\{(?:(id|type|data|assets|limit|bookmark|collection)|((?:data|filter)\.[^{}|]+)(?:\|(.*))?)\}$/s;

/** The places of an argument: itself, or, if it is a JSON object or list, its strings. Other texts are constants. */
export function placeholdersIn(argument: string): Placeholder[] {
  const placeholder = placeholderOf(argument);
  if (placeholder !== undefined) return [placeholder];
  const found: Placeholder[] = [];
  const template = jsonIn(argument);
  if (template !== undefined) JSON.stringify(template, (_name, value) => noted(value, found));
  return found;
}

function noted(value: unknown, found: Placeholder[]): unknown {
  const placeholder = typeof value === 'string' ? placeholderOf(value) : undefined;
  if (placeholder !== undefined) found.push(placeholder);
  return value;
}

/** Whether it is neither a placeholder, nor a constant that cannot be taken for one. */
export function isMistaken(argument: string): boolean {
  const looksLikeOne = /^\{.*\}$/s.test(argument);
  return looksLikeOne && placeholderOf(argument) === undefined && jsonIn(argument) === undefined;
}

/** The argument as text: a string is passed unchanged, everything else as JSON. */
export function fillArgument(argument: string, valueOf: (placeholder: Placeholder) => JsonValue): string {
  const placeholder = placeholderOf(argument);
  if (placeholder !== undefined) {
    const value = valueOf(placeholder);
    return typeof value === 'string' ? value : canonical(value);
  }
  if (placeholdersIn(argument).length === 0) return argument;
  return JSON.stringify(jsonIn(argument), (_name, value: JsonValue) => {
    const inner = typeof value === 'string' ? placeholderOf(value) : undefined;
    return inner === undefined ? value : valueOf(inner);
  });
}

function placeholderOf(text: string): Placeholder | undefined {
  const [, plain, named, fallback] = PLACEHOLDER.exec(text) ?? [];
  const name = plain ?? named;
  if (name === undefined) return undefined;
  if (fallback === undefined) return { name, fallback: undefined };
  try {
    return { name, fallback: JSON.parse(fallback) as JsonValue };
  } catch {
    return undefined;
  }
}

/** Undefined: it is no JSON object or list. */
function jsonIn(text: string): object | undefined {
  if (!/^[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

import { hash } from 'node:crypto';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };
export type Members = { readonly [member: string]: Json };

export const isObject = (value: Json | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 8785: members by their UTF-16 code units, numbers and strings as ECMAScript prints them. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name]!)}`);
  return `{${members.join(',')}}`;
}

/** 16 bytes of SHA-256 over the parts as 22 characters: enough to compare, little to keep. */
export const digestOf = (...parts: readonly (string | null)[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22);

/** The value of a text; undefined if it is no JSON. */
export function parsed(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The members of a text that is a JSON object; else none. */
export function membersOf(text: string | undefined): Members {
  const value = parsed(text);
  return isObject(value) ? value : {};
}

/** A member that is a list of objects; else an empty one. */
export function listOf(members: Members, name: string): readonly Members[] {
  const value = members[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

import { Bytes } from '@sealgate/json';
import type { JsonValue } from '@sealgate/json';
import { UnreadableError } from './unreadable-error.ts';

export type JsonObject = { readonly [member: string]: JsonValue };

/** A JSON object and where it stands, so that every complaint can name the place: `proof.json#/proof`. */
export interface Place {
  readonly where: string;
  readonly object: JsonObject;
}

export function isObject(value: JsonValue | undefined): value is { [member: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in a file. Throws UnreadableError when the file holds something else. */
export function rootObject(name: string, value: JsonValue): Place {
  if (!isObject(value)) throw new UnreadableError(`${name} is not a JSON object.`);
  return { where: `${name}#`, object: value };
}

export function hasMember({ object }: Place, member: string): boolean {
  return Object.hasOwn(object, member);
}

export function objectAt(place: Place, member: string): Place {
  const object = valueAt(place, member);
  if (!isObject(object)) throw wrongShape(place, member, 'an object');
  return { where: `${place.where}/${member}`, object };
}

export function stringAt(place: Place, member: string): string {
  const value = valueAt(place, member);
  if (typeof value !== 'string') throw wrongShape(place, member, 'a string');
  return value;
}

export function stringOrNullAt(place: Place, member: string): string | null {
  return valueAt(place, member) === null ? null : stringAt(place, member);
}

export function numberAt(place: Place, member: string): number {
  const value = valueAt(place, member);
  if (typeof value !== 'number') throw wrongShape(place, member, 'a number');
  return value;
}

export function listAt(place: Place, member: string): readonly JsonValue[] {
  const value = valueAt(place, member);
  if (!Array.isArray(value)) throw wrongShape(place, member, 'a list');
  return value;
}

export function stringsAt(place: Place, member: string): string[] {
  return listAt(place, member).map((value, index) => {
    if (typeof value !== 'string') throw wrongShape(place, `${member}/${index}`, 'a string');
    return value;
  });
}

/** Any value; only its absence is refused. */
export function valueAt(place: Place, member: string): JsonValue {
  const value = Object.hasOwn(place.object, member) ? place.object[member] : undefined;
  if (value === undefined) throw new UnreadableError(`${place.where} has no member ${member}.`);
  return value;
}

/** The bytes of a lower-hex hash, or undefined when the text is not one: a failed check, not an unreadable file. */
export function hashBytes(hex: string): Bytes | undefined {
  return /^[0-9a-f]{64}$/.test(hex) ? Bytes.from(hex, 'hex') : undefined;
}

function wrongShape(place: Place, member: string, wanted: string): UnreadableError {
  return new UnreadableError(`${place.where}/${member} is not ${wanted}.`);
}

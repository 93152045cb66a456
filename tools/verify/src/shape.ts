import { AppError } from '@sealgate/errors';
import { Bytes, type JsonValue, parseStrict } from '@sealgate/json';

export type JsonObject = { readonly [member: string]: JsonValue };

/** A JSON object and its location, for messages: `proof.json#/proof`. */
export interface Place {
  readonly where: string;
  readonly object: JsonObject;
}

export function isObject(value: JsonValue | undefined): value is { [member: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in a file. @throws UnreadableError if the file contains something else. */
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

/** Any value; only a missing one is an error. */
export function valueAt(place: Place, member: string): JsonValue {
  const value = Object.hasOwn(place.object, member) ? place.object[member] : undefined;
  if (value === undefined) throw new UnreadableError(`${place.where} has no member ${member}.`);
  return value;
}

/** The bytes of a lower-case hex hash; undefined if invalid: a failed check, not an unreadable file. */
export function hashBytes(hex: string): Bytes | undefined {
  return /^[0-9a-f]{64}$/.test(hex) ? Bytes.from(hex, 'hex') : undefined;
}

function wrongShape(place: Place, member: string, wanted: string): UnreadableError {
  return new UnreadableError(`${place.where}/${member} is not ${wanted}.`);
}

/** Parses strict JSON: a lax parser could read other content than what was hashed. @throws UnreadableError. */
export function parseJson(bytes: Uint8Array, name: string): JsonValue {
  try {
    return parseStrict(bytes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const pointer = error.faults[0]?.pointer ?? '';
    throw new UnreadableError(
      `${name} is not JSON as the ledger takes it: ${error.message} (${error.code} at #${pointer})`,
    );
  }
}

/**
 * The input cannot be checked: a missing file, a wrong format, or an invalid option. Unlike a failed check it says
 * nothing about the log, so it has its own exit code.
 */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

import type { Bytes } from '#platform';
import { escapePointer } from './escape-pointer.ts';

/** A longer pointer would echo the body to its sender; the nearest enclosing value with a shorter pointer is used. */
const MAX_POINTER_LENGTH = 2048;

/** An open container: the index in an array, or the start and end of the current member name of an object. */
interface Level {
  index: number;
  nameStart: number;
  nameEnd: number;
}

const IN_OBJECT = -1;
const NO_NAME = -1;

/**
 * The RFC 6901 pointer to the value, or to the member whose name, starts at this offset. The bytes before it must be
 * valid JSON so far. Linear time.
 */
export function pointerAt(bytes: Bytes, offset: number): string {
  const levels: Level[] = [];
  let at = 0;
  while (at < offset) at = step(bytes, at, levels);
  if (bytes[offset] === 0x22 /* " */) step(bytes, offset, levels);
  let pointer = '';
  for (const level of levels) {
    const longer = `${pointer}/${tokenOf(bytes, level)}`;
    if (longer.length > MAX_POINTER_LENGTH) break;
    pointer = longer;
  }
  return pointer;
}

function step(bytes: Bytes, at: number, levels: Level[]): number {
  const level = levels.at(-1);
  switch (bytes[at]) {
    case 0x7b /* { */:
      levels.push({ index: IN_OBJECT, nameStart: NO_NAME, nameEnd: NO_NAME });
      break;
    case 0x5b /* [ */:
      levels.push({ index: 0, nameStart: NO_NAME, nameEnd: NO_NAME });
      break;
    case 0x7d /* } */:
    case 0x5d /* ] */:
      levels.pop();
      break;
    case 0x2c /* , */:
      if (level !== undefined && level.index === IN_OBJECT) level.nameStart = NO_NAME;
      else if (level !== undefined) level.index++;
      break;
    case 0x22 /* " */:
      return stepOverString(bytes, at, level);
    default:
      break;
  }
  return at + 1;
}

function stepOverString(bytes: Bytes, open: number, level: Level | undefined): number {
  let at = open + 1;
  while (at < bytes.length && bytes[at] !== 0x22 /* " */) at += bytes[at] === 0x5c /* \ */ ? 2 : 1;
  const end = at + 1;
  if (level !== undefined && level.index === IN_OBJECT && level.nameStart === NO_NAME) {
    level.nameStart = open;
    level.nameEnd = end;
  }
  return end;
}

function tokenOf(bytes: Bytes, level: Level): string {
  if (level.index !== IN_OBJECT) return String(level.index);
  const name = String(JSON.parse(bytes.toString('utf8', level.nameStart, level.nameEnd)));
  // A name may contain a lone surrogate, which a response cannot carry.
  return escapePointer(name.toWellFormed());
}

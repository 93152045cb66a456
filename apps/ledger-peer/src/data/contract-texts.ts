import type { NewAsset } from '../domain/asset-ledger.ts';
import type { ContractResult } from '../domain/asset-result.ts';

const MAX_RESULT_BYTES = 65_536;
const MAX_MESSAGE_BYTES = 1024;
const MAX_MESSAGE = 500;

/**
 * What a contract returned, up to 64 KiB: what is not JSON, is longer, or is to be text, as a string. Undefined: nothing.
 */
export function contractResult(bytes: Buffer, returns: 'json' | 'text' = 'json'): ContractResult | undefined {
  if (bytes.length === 0) return undefined;
  const truncated = bytes.length > MAX_RESULT_BYTES;
  const text = firstBytes(bytes, MAX_RESULT_BYTES);
  return { json: returns === 'json' && !truncated && isJson(text) ? text : JSON.stringify(text), truncated };
}

/** A contract's own message: at most 1 KiB, without control characters. */
export function contractMessage(message: string): string {
  return firstBytes(Buffer.from(message.replaceAll(/\p{Cc}/gu, '')), MAX_MESSAGE_BYTES);
}

/** A contract's message as a sentence for people: truncated, and in one line. */
export function refusalMessage(message: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is being replaced
  const line = message.replaceAll(/[\u0000-\u001f\u007f]/g, ' ').toWellFormed();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE).toWellFormed()}...` : line;
}

const PRIVATE = '[private]';

/**
 * A contract's message without the values of transient members, which it may quote. The ids of the assets stay: they
 * are in the journal and in the request's path, also where a contract gets them as transient data too.
 */
export function withoutTransient(message: string, assets: readonly Pick<NewAsset, 'id' | 'transient'>[]): string {
  const texts = assets.flatMap(({ transient = {} }) => Object.values(transient));
  const ids = assets.map(({ id }) => id);
  const values = new Set([...texts.flatMap((text) => [text, ...leavesOf(text)]), ...ids]);
  const longestFirst = [...values].filter((value) => value !== '').sort((one, other) => other.length - one.length);
  let parts: (string | Found)[] = [message];
  for (const value of longestFirst) {
    const found = { shown: ids.includes(value) ? value : PRIVATE };
    parts = parts.flatMap((part) => (typeof part === 'string' ? foundIn(part, value, found) : [part]));
  }
  return parts.map((part) => (typeof part === 'string' ? part : part.shown)).join('');
}

/** A value that was found in a message, and is not searched again. */
interface Found {
  readonly shown: string;
}

const foundIn = (text: string, value: string, found: Found): (string | Found)[] =>
  text.split(value).flatMap((piece, at) => (at === 0 ? [piece] : [found, piece]));

/** The strings and numbers within a JSON text. */
function leavesOf(text: string): string[] {
  const leaves: string[] = [];
  if (!isJson(text)) return leaves;
  JSON.parse(text, (_name, value: unknown) => {
    if (typeof value === 'string' || typeof value === 'number') leaves.push(String(value));
    return value;
  });
  return leaves;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As text, without a character that is cut in two. */
function firstBytes(bytes: Buffer, atMost: number): string {
  const isCut = bytes.length > atMost;
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, atMost), { stream: isCut });
}

/**
 * Keys of the world state:
 *
 * - `i/<id>`: head of a record: type, version, content hash and transaction of its newest version
 * - `r/<type>/<id>`: the newest version itself
 *
 * Ids and types are written as lower-case hex of their UTF-8 bytes. So any character is allowed in them, no separator
 * can be forged, and keys sort by code points (UTF-8 and hex preserve that order) on LevelDB and CouchDB alike. Keys
 * begin with a letter, never with U+0000, so that none is a composite key of the shim: ranges of those end at U+10FFFF
 * and would miss ids that begin with it.
 */
export function headKey(id: string): string {
  return `i/${hex(id)}`;
}

export function recordKey(type: string, id: string): string {
  return `r/${hex(type)}/${hex(id)}`;
}

/**
 * Key range of a type's records after an id ('' for all): from the first of the pair, inclusive, to the second,
 * exclusive.
 */
export function keysBehind(type: string, afterId: string): readonly [string, string] {
  // '!' sorts after the end of the key and before every digit of a longer id; '0' follows '/'.
  const from = afterId === '' ? `r/${hex(type)}/` : `${recordKey(type, afterId)}!`;
  return [from, `r/${hex(type)}0`];
}

/** Key range of heads whose id begins with `prefix` ('' for all), after an id ('' from the first). */
export function headKeysBehind(prefix: string, afterId: string): readonly [string, string] {
  // 'g' sorts after every hex digit.
  return [afterId === '' ? headKey(prefix) : `${headKey(afterId)}!`, `${headKey(prefix)}g`];
}

/** The id of a head's key. */
export function idOfHeadKey(key: string): string {
  return Buffer.from(key.slice('i/'.length), 'hex').toString('utf8');
}

function hex(text: string): string {
  return Buffer.from(text, 'utf8').toString('hex');
}

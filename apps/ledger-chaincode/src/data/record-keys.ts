/**
 * Where things lie in the world state:
 *
 *   i/<id>          head of a record: type, version, content hash and transaction of its newest version
 *   r/<type>/<id>   the newest version itself
 *
 * Ids and types stand in lower hex of their UTF-8 bytes. Any character is then allowed in them, no separator can be
 * forged, and the order of the keys is that of the code points (UTF-8 keeps it, and so does hex) on LevelDB and CouchDB
 * alike. Keys begin with a letter, never with U+0000, so none is a composite key of the shim: those end a range at
 * U+10FFFF and would lose the ids that begin with it.
 */
export function headKey(id: string): string {
  return `i/${hex(id)}`;
}

export function recordKey(type: string, id: string): string {
  return `r/${hex(type)}/${hex(id)}`;
}

/** The keys of a type's records behind an id ('' for all of them): from the first of the pair up to, without, the second. */
export function keysBehind(type: string, afterId: string): readonly [string, string] {
  // '!' sorts behind the end of the key and before every digit, with which a longer id would go on; '0' follows '/'.
  const from = afterId === '' ? `r/${hex(type)}/` : `${recordKey(type, afterId)}!`;
  return [from, `r/${hex(type)}0`];
}

/** The keys of heads whose id begins with `prefix` ('' for all), behind an id ('' from the first). */
export function headKeysBehind(prefix: string, afterId: string): readonly [string, string] {
  // 'g' sorts behind every digit of hex.
  return [afterId === '' ? headKey(prefix) : `${headKey(afterId)}!`, `${headKey(prefix)}g`];
}

/** The id whose head lies at a key. */
export function idOfHeadKey(key: string): string {
  return Buffer.from(key.slice('i/'.length), 'hex').toString('utf8');
}

function hex(text: string): string {
  return Buffer.from(text, 'utf8').toString('hex');
}

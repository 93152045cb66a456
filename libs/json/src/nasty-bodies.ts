import { hashOfKey } from './member-names.ts';

/**
 * Bodies of a given size that are slow to parse, for tests and the benchmark: each stresses another part of the parser.
 * `code` is the expected refusal, undefined for a valid body.
 */
interface NastyBody {
  readonly name: string;
  readonly code?: 'INVALID_JSON' | 'JSON_TOO_DEEP' | 'DUPLICATE_MEMBER' | 'UNSAFE_NUMBER';
  readonly text: string;
}

/** All bodies, about `size` characters each. */
export function nastyBodies(size: number): NastyBody[] {
  const distinct = membersOf(size - 16, (index) => `"${index.toString(36)}":0`);
  const nested = (inner: string, depth: number) => '{"a":'.repeat(depth) + inner + '}'.repeat(depth);
  return [
    { name: 'openers only', code: 'JSON_TOO_DEEP', text: '['.repeat(size) },
    { name: 'openers after a wide start', code: 'JSON_TOO_DEEP', text: `[${fill(size - 80, '1,')}${'['.repeat(70)}` },
    { name: 'as deep as allowed, then wide', text: nested(`[${fill(size - 400, '1,')}1]`, 63) },
    { name: 'deep and wide', text: `[${fill(size - 140, `${'['.repeat(63)}${']'.repeat(63)},`)}1]` },
    { name: 'empty objects', text: `[${fill(size - 3, '{},')}1]` },
    { name: 'blanks', text: `${' '.repeat(size - 1)}1` },
    { name: 'line feeds, then a wrong character', code: 'INVALID_JSON', text: `${'\n'.repeat(size - 1)}x` },
    { name: 'cut off at the end', code: 'INVALID_JSON', text: `[${fill(size - 2, '{"a":1},')}` },
    ...nastyNumbers(size),
    ...nastyStrings(size),
    { name: 'distinct members', text: `{${distinct}}` },
    { name: 'distinct members and a blank', text: `{${distinct} }` },
    { name: 'distinct members and 1.0', text: `{${distinct},"":1.0}` },
    { name: 'the last member twice', code: 'DUPLICATE_MEMBER', text: `{${distinct},"0":0}` },
    { name: 'all members the same', code: 'DUPLICATE_MEMBER', text: `{${fill(size - 8, '"a":0,')}"a":0}` },
    { name: 'one long member twice', code: 'DUPLICATE_MEMBER', text: twice('x'.repeat(size / 2 - 8)) },
    { name: 'members like indexes, falling', text: `{${membersOf(size - 2, (index) => `"${999_999 - index}":0`)}}` },
    { name: 'members like indexes, far apart', text: `{${membersOf(size - 2, (index) => `"${index * 1021}":0`)}}` },
    { name: 'members like indexes, equal low bits', text: `{${membersOf(size - 2, (i) => `"${lowBitsEqual(i)}":0`)}}` },
  ];
}

function nastyNumbers(size: number): NastyBody[] {
  const list = (item: string) => `[${fill(size - 30, `${item},`)}0]`;
  return [
    { name: 'one number of all digits', code: 'UNSAFE_NUMBER', text: '9'.repeat(size) },
    { name: 'one number of zeros after the point', code: 'UNSAFE_NUMBER', text: `0.${'0'.repeat(size - 3)}1` },
    { name: 'one number with a long exponent', code: 'UNSAFE_NUMBER', text: `1e${'9'.repeat(size - 2)}` },
    { name: 'one number that its exponent saves', text: `0.${'0'.repeat(size - 12)}1e${size - 11}` },
    { name: 'numbers too large', code: 'UNSAFE_NUMBER', text: list('1e400') },
    { name: 'numbers with a trailing zero', text: list('1.0') },
    { name: 'numbers with an exponent', text: list('1e5') },
    { name: 'numbers near the greatest', text: list('1e308') },
    { name: 'numbers below the normal ones', text: list('1e-310') },
    { name: 'numbers of sixteen digits', text: list('0.1234567890123456') },
    { name: 'numbers of sixteen digits that end in zero', text: list('0.12345678901234560') },
  ];
}

function nastyStrings(size: number): NastyBody[] {
  return [
    { name: 'one long string', text: `"${'x'.repeat(size - 2)}"` },
    { name: 'one long string beyond ASCII', text: `"${'ü'.repeat(size / 2 - 1)}"` },
    { name: 'escapes of four digits', text: `"${fill(size - 2, '\\u0041')}"` },
    { name: 'escapes of surrogate pairs', text: `"${fill(size - 2, '\\ud83d\\ude00')}"` },
    { name: 'escapes of backslashes', text: `"${fill(size - 2, '\\\\')}"` },
    { name: 'escaped member names', text: `{${membersOf(size - 2, (index) => `"\\u0061${index}":0`)}}` },
    { name: 'half a pair at the end', code: 'INVALID_JSON', text: `["${'x'.repeat(size - 20)}","\\ud800"]` },
    { name: 'sixteen member names of one hash', text: `[${fill(size - 3, `${equalHashes(4)},`)}1]` },
    { name: 'two member names of one hash', text: `[${fill(size - 3, `${equalHashes(1)},`)}1]` },
    { name: 'escaped __proto__ as a value', text: `[${fill(size - 4, '"__pr\\u006fto__",')}1]` },
  ];
}

/** Repeats a piece as often as fits. */
function fill(size: number, piece: string): string {
  return piece.repeat(Math.floor(size / piece.length));
}

function membersOf(size: number, memberAt: (index: number) => string): string {
  const members: string[] = [];
  for (let length = 0, index = 0; length < size; index++) {
    const member = memberAt(index);
    length += member.length + 1;
    if (length <= size + 1) members.push(member);
  }
  return members.join(',');
}

function twice(name: string): string {
  return `{"${name}":0,"${name}":0}`;
}

/** Numbers below 2^24 in runs with equal low 17 bits, to collide in a hash table. */
function lowBitsEqual(index: number): number {
  return (index % 128) * 2 ** 17 + Math.floor(index / 128);
}

/** An object whose member names have equal hashes and contain escapes, which makes comparing them expensive. */
function equalHashes(pairs: number): string {
  const names = equalHashesOf(pairs).map(
    (name) => `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}":0`,
  );
  return `{${names.join(',')}}`;
}

/** 2^pairs strings with equal hashes, built from pairs of colliding pieces. */
export function equalHashesOf(pairs: number): string[] {
  let texts = [''];
  for (let pair = 0; pair < pairs; pair++) {
    const pieces = collidingPieces(texts[0] ?? '');
    texts = texts.flatMap((text) => pieces.map((piece) => text + piece));
  }
  return texts;
}

function collidingPieces(before: string): string[] {
  const byHash = new Map<number, string>();
  for (let index = 0; ; index++) {
    const piece = (Math.imul(index, 0x9e3779b1) >>> 0).toString(16); // Far apart, so that they collide soon.
    const hash = hashOfKey(before + piece);
    const other = byHash.get(hash);
    if (other !== undefined) return [other, piece];
    byHash.set(hash, piece);
  }
}

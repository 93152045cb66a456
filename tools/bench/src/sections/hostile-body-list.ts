import { gzipSync } from 'node:zlib';

export interface HostileBody {
  readonly name: string;
  readonly bytes: Buffer;
  /** The code of the refusal; absent: it is written. */
  readonly code?: string;
  readonly encoding?: 'gzip';
}

/** The maximum that the gateway accepts. */
const bodyMaxBytes = 1_048_576;

/** `open`, then as many elements as fit, then `close`: as close below the limit as possible. */
function filled(open: string, element: (number: number) => string, close: string): Buffer {
  const parts = [open];
  let length = Buffer.byteLength(open) + Buffer.byteLength(close);
  for (let number = 0; ; number += 1) {
    const part = `${number === 0 ? '' : ','}${element(number)}`;
    length += Buffer.byteLength(part);
    if (length > bodyMaxBytes) return Buffer.from(parts.join('') + close);
    parts.push(part);
  }
}

const repeated = (open: string, text: string, close: string): Buffer =>
  Buffer.from(
    open + text.repeat(Math.floor((bodyMaxBytes - open.length - close.length) / Buffer.byteLength(text))) + close,
  );

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

export const openersName = 'half a million [';

/** Bodies that are slow for a careless parser, stripper, sorter or hasher. Large, so created on demand. */
export const hostileBodies = (): readonly HostileBody[] => [
  { name: openersName, code: 'JSON_TOO_DEEP', bytes: Buffer.alloc(500_000, '[') },
  { name: '1 MiB of {"a":', code: 'JSON_TOO_DEEP', bytes: repeated('', '{"a":', '') },
  { name: '1 MiB of spaces', code: 'INVALID_JSON', bytes: Buffer.alloc(bodyMaxBytes, ' ') },
  { name: 'no end to a string', code: 'INVALID_JSON', bytes: repeated('{"data":{"a":"', 'x', '') },
  { name: 'one long string', bytes: repeated('{"data":{"a":"', 'x', '"}}') },
  { name: 'a string of escaped quotes', bytes: repeated('{"data":{"a":"', '\\"', '"}}') },
  { name: 'a string of \\u0000', bytes: repeated('{"data":{"a":"', '\\u0000', '"}}') },
  { name: 'a string of escaped pairs', bytes: repeated('{"data":{"a":"', '\\ud83d\\ude00', '"}}') },
  { name: 'a lone surrogate at the end', code: 'INVALID_JSON', bytes: repeated('{"data":{"a":"', 'é', '\\ud800"}}') },
  { name: 'one number of a million digits', code: 'UNSAFE_NUMBER', bytes: repeated('{"data":{"a":', '9', '}}') },
  { name: 'numbers', bytes: filled('{"data":{"a":[', (n) => String(n / 7), ']}}') },
  {
    name: 'an unsafe number at the end',
    code: 'UNSAFE_NUMBER',
    bytes: filled('{"data":{"a":[', () => '1.10', ',1e400]}}'),
  },
  { name: 'empty arrays', bytes: filled('{"data":{"a":[', () => '[]', ']}}') },
  { name: 'empty objects', bytes: filled('{"data":{"a":[', () => '{}', ']}}') },
  { name: 'nested as deep as may be', bytes: filled('{"data":{"a":[', () => nested(60), ']}}') },
  {
    name: 'members in reverse order',
    bytes: filled('{"data":{', (n) => `"k${999_999 - n}":0`, '}}'),
  },
  {
    name: 'long names that differ at the end',
    bytes: filled('{"data":{', (n) => `"${'x'.repeat(200)}${999_999 - n}":0`, '}}'),
  },
  {
    name: 'a duplicate member at the end',
    code: 'DUPLICATE_MEMBER',
    bytes: filled('{"data":{', (n) => `"k${n}":0`, ',"k0":1}}'),
  },
  { name: 'integer names', bytes: filled('{"data":{', (n) => `"${999_999 - n}":0`, '}}') },
  {
    name: 'sensitive members, escaped',
    bytes: filled('{"data":{"a":[', () => '{"\\u0070assword":{"cvv":"1"}}', ']}}'),
  },
  {
    name: 'not UTF-8 at the end',
    code: 'INVALID_JSON',
    bytes: Buffer.concat([repeated('{"data":{"a":"', 'é', 'x').subarray(0, -1), Buffer.of(0xff)]),
  },
  {
    name: 'a batch of 100 large records',
    bytes: Buffer.from(`{"assets":[${Array.from({ length: 100 }, largeRecord).join(',')}]}`),
  },
  { name: 'a million top-level elements', bytes: filled('[', () => '0', ']') },
  { name: '1 MiB of gzip that inflates to 1 GiB', code: 'PAYLOAD_TOO_LARGE', bytes: bomb(), encoding: 'gzip' },
  {
    name: '1 MiB of JSON as gzip',
    bytes: gzipSync(filled('[', (n) => `{"k${n}":${n}}`, ']')),
    encoding: 'gzip',
  },
];

function largeRecord(_: unknown, number: number): string {
  const members = Array.from({ length: 600 }, (_unused, member) => `"k${600 - member}":"${number}.${member}"`);
  return `{"type":"large","data":{${members.join(',')}}}`;
}

/** Members of one gzip file are concatenated, so a gibibyte of zeros is one mebibyte repeated. */
function bomb(): Buffer {
  const part = gzipSync(Buffer.alloc(64 * 1_048_576, ' '), { level: 9 });
  return Buffer.concat(Array.from({ length: 16 }, () => part));
}

export { canonical, canonicalHash } from './canonical.ts';
export { MAX_DEPTH, type JsonValue } from './json-value.ts';
export { opensTooDeep } from './opens-too-deep.ts';
export { parseStrict, parseStrictInTurns } from './parse-strict.ts';
export { sha256 } from './sha256.ts';
export { Bytes, sha256Text } from '#platform';

export { canonical, canonicalHash, sha256, type JsonValue } from './canonical.ts';
export { MAX_DEPTH, opensTooDeep } from './opens-too-deep.ts';
export { parseStrict, parseStrictInTurns } from './parse-strict.ts';
export { Bytes, sha256Text } from '#platform';

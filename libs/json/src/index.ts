export { canonical, canonicalHash, sha256, sha256Text, type JsonValue } from './canonical.ts';
export { MAX_DEPTH, opensTooDeep } from './opens-too-deep.ts';
export { parseStrict, parseStrictInTurns } from './parse-strict.ts';
export { Bytes } from '#platform';

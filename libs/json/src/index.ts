export { canonical, canonicalHash, sha256, sha256Text, type JsonValue } from './canonical.ts';
export { cutMembers, scalarAt, type TextScalar } from './cut-members.ts';
export { defined } from './defined.ts';
export { escapePointer } from './escape-pointer.ts';
export { inexactNumbers, pointerIn } from './inexact-numbers.ts';
export { instantOf, parseInstant } from './instant.ts';
export { MAX_DEPTH, opensTooDeep } from './opens-too-deep.ts';
export { parseStrict, parseStrictInTurns, type StrictCode } from './parse-strict.ts';
export { Bytes } from '#platform';

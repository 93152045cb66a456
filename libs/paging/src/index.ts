export { cursorCodec, type CursorCodec } from './cursor-codec.ts';
export { parseLimit } from './parse-limit.ts';

export { cursorCodec, type CursorCodec, type CursorCodecOptions } from './cursor-codec.ts';
export { parseLimit } from './parse-limit.ts';

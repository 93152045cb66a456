import { readCode } from './read-code.ts';

/** Answers each image with the text of its code, or with undefined. */
globalThis.onmessage = ({ data: image }: MessageEvent<ImageData>) => {
  (globalThis as unknown as { postMessage(text: string | undefined): void }).postMessage(readCode(image));
};

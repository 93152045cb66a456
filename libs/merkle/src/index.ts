export * from './verifying.ts';
export { generateNoteKey, noteSigner } from './note-signer.ts';
export type { NoteSigner } from './note-signer.ts';

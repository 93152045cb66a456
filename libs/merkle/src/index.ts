export * from './verifying.ts';
export { generateNoteKey, noteSigner } from './note-signer.ts';
export type { LogSigner, NoteSigner, RootSigner } from './note-signer.ts';

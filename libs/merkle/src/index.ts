export * from './verifying.ts';
export { ed25519PrivateKey, generateNoteKey, noteSigner } from './note-signer.ts';
export type { LogSigner, NoteSigner, RootSigner } from './note-signer.ts';

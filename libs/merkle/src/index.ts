export * from './verifying.ts';
export { ed25519PrivateKey, generateNoteKey, noteSigner } from './note-signer.ts';
export type { NoteSigner, RootSigner } from './note-signer.ts';

export * from './verifying.ts';
export { documentSigner, generateDocumentKey, seededSigner } from './document-signer.ts';
export type { DocumentSigner } from './document-signer.ts';

import { generateKeyPairSync, randomBytes } from 'node:crypto';

// Secrets of a story's own processes, made at its start.

export const newToken = (): string => randomBytes(32).toString('base64url');

/** For SERVER_SECRETS. */
export const newServerSecret = (id = 'e1'): string => `${id}:${randomBytes(32).toString('hex')}`;

/** For DOCUMENT_SIGNING_KEY: PEM. */
export const newDocumentKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

export { bearerToken, keyHashOf, mintKey, type ApiKeyPrefix } from './api-key.ts';
export { randomPool, timeOrderedBytes, timeOrderedIds } from './api-key.ts';
export { HashedSecrets, tokenHashes, type HashedSecret } from './hashed-secrets.ts';
export type { ApiKeyRow, KeyPosition, KeyStore, MintedApiKey, NewApiKey } from './key-store.ts';
export { isLoopback, safeUrl } from './safe-url.ts';
export { framed, KeyedHasher, SealedTextError, SecretBox, ServerSecrets, type KeyedHash } from './server-secrets.ts';

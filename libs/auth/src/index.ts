export { bearerToken, isLoopback, keyHashOf, mintKey, safeUrl, type ApiKeyPrefix } from './api-key.ts';
export { framed, KeyedHasher, type KeyedHash } from './keyed-hasher.ts';
export { SealedTextError, SecretBox, ServerSecrets } from './server-secrets.ts';
export { HashedSecrets, tokenHashes, type HashedSecret } from './hashed-secrets.ts';
export { randomPool, timeOrderedBytes, timeOrderedIds } from './time-ordered-ids.ts';

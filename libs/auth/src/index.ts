export { keyHashOf, mintKey, type ApiKeyPrefix, type MintedKey } from './api-key.ts';
export { bearerToken } from './bearer-token.ts';
export { framed } from './framed.ts';
export { KeyedHasher, type HashingKey, type KeyedHash } from './keyed-hasher.ts';
export { SealedTextError, SecretBox } from './secret-box.ts';
export { ServerSecrets } from './server-secrets.ts';
export { HashedSecrets, tokenHashes, type HashedSecret, type HashedSecretsOptions } from './hashed-secrets.ts';
export { randomPool } from './random-pool.ts';
export { timeOrderedIds } from './time-ordered-ids.ts';

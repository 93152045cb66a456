import type { ServerSecrets } from '@sealgate/auth';
import { documentSigner, type DocumentSigner } from '@sealgate/envelope';

/** RFC 8410: PKCS #8 of an Ed25519 key is this, and then its 32 bytes. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The name of the purpose must never change: the keys follow from it. */
const PURPOSE = 'risk envelope signing';

/**
 * One signing key for each server secret, the first of which signs. They follow from the secrets, so every replica has the
 * same ones, and there is no further secret to keep.
 */
export function envelopeSigners(secrets: ServerSecrets): readonly [DocumentSigner, ...DocumentSigner[]] {
  const [first, ...others] = secrets
    .derive(PURPOSE)
    .hashAll('ed25519')
    .map(({ digest }) => documentSigner(pemOf(digest)));
  if (first === undefined) throw new Error('There is at least one server secret.');
  return [first, ...others];
}

function pemOf(seed: Buffer): string {
  const base64 = Buffer.concat([PKCS8_PREFIX, seed]).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`;
}

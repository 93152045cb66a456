import { generateKeyPairSync, hash, sign } from 'node:crypto';

/** A delivery signed by Standard Webhooks, v1a. */
export const BODY = '{"type":"order.paid","größe":1}';
export const TIME = 1_780_000_000;
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const keyText = (key: typeof publicKey) =>
  `whpk_${Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')}`;
export const KEY = keyText(publicKey);
/** Another sender's key. */
export const OTHER = keyText(generateKeyPairSync('ed25519').publicKey);

const signed = `msg_1.${TIME}.${BODY}`;
/** The delivery's data in a record. */
export const extra = {
  source: 'src_AAAAAAAAAAAAAAAAAAAAAA',
  scheme: 'standard-webhooks',
  deliveryId: 'msg_1',
  timestamp: TIME,
  bodySha256: hash('sha256', BODY),
  keyId: 'k1',
  vouchedBy: 'public-key',
  signature: `v1a,${sign(null, Buffer.from(signed), privateKey).toString('base64')}`,
  signedSha256: hash('sha256', signed),
};

import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;

/** Object identifiers in DER: ecdsa-with-SHA256 (RFC 5758) and commonName (RFC 5280). */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex');
const COMMON_NAME = Buffer.from('0603550403', 'hex');

/**
 * A self-signed certificate for TLS tests. Node can parse X.509 but not create it, and these few lines of DER (RFC
 * 5280, version 1: no extensions) avoid a dependency on a package or an `openssl` binary.
 */
export function selfSigned(commonName: string): { readonly cert: string; readonly key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, ECDSA_WITH_SHA256);
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(commonName)))));
  const validity = der(
    SEQUENCE,
    der(UTC_TIME, Buffer.from('200101000000Z')),
    der(UTC_TIME, Buffer.from('491231235959Z')),
  );
  const serial = der(INTEGER, Buffer.from([0x01]), randomBytes(8));
  const subjectKey = publicKey.export({ type: 'spki', format: 'der' });
  const body = der(SEQUENCE, serial, algorithm, name, validity, name, subjectKey);
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', body, privateKey));
  const certificate = der(SEQUENCE, body, algorithm, signature);
  const lines = certificate.toString('base64').replaceAll(/.{64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}

/** Tag, length, contents. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const contents = Buffer.concat(parts);
  const { length } = contents;
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), contents]);
}

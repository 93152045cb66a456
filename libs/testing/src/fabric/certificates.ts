import { generateKeyPairSync, randomBytes, sign, X509Certificate, type KeyObject } from 'node:crypto';

const BOOLEAN = 0x01;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;

/**
 * Object identifiers in DER: ecdsa-with-SHA256 and -SHA384 (RFC 5758), organizationName, organizationalUnitName,
 * commonName, and extensions of certificates and revocation lists (RFC 5280).
 */
const ECDSA_WITH_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex');
const ECDSA_WITH_SHA384 = Buffer.from('06082a8648ce3d040303', 'hex');
const ORGANIZATION = Buffer.from('060355040a', 'hex');
const UNIT = Buffer.from('060355040b', 'hex');
const COMMON_NAME = Buffer.from('0603550403', 'hex');
const BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex');
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex');
/** 1.2.3.4.5.6.7.8.1: the extension in which Fabric's CA writes the attributes of an identity, as JSON. */
const ATTRIBUTES = Buffer.from('06082a03040506070801', 'hex');

const FOREVER = new Date('2049-12-31T23:59:59Z');
const TRUE = Buffer.from([0xff]);
const LOOPBACK = Buffer.from([127, 0, 0, 1]);

/** A certificate and its key, as PEM. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

export interface IssueOptions {
  /** For a server at localhost and 127.0.0.1. */
  readonly loopback?: boolean;
  /** From 2020 to 2049; default: the end of 2049. */
  readonly validTo?: Date;
  /** Attributes that contracts read (ABAC). */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
  /** Size of an RSA key to use instead of P-256. */
  readonly rsaBits?: number;
  /** Default P-256. */
  readonly curve?: Curve;
  /** The organisational unit, by which an MSP knows roles: `peer`, `client`. */
  readonly unit?: string;
}

type Curve = 'P-256' | 'P-384';

export interface Authority {
  readonly cert: string;
  issue(commonName: string, options?: IssueOptions): Certified;
  /** An authority with a certificate of this one. */
  intermediate(commonName: string): Authority;
  /** A revocation list (PEM) of certificates that it has issued. */
  revoke(...certificates: readonly string[]): string;
}

/**
 * A test CA. Node parses X.509 but does not create it, and these few lines of DER (RFC 5280) do not justify a package
 * or an `openssl` on the machine.
 */
export function certificateAuthority(
  organization: string,
  authorityValidTo = FOREVER,
  curve: Curve = 'P-256',
): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: curve });
  const issuer = distinguishedName(organization, `ca.${organization}`);
  const cert = certificate({
    issuer,
    subject: issuer,
    subjectKey: keys.publicKey,
    extensions: [isAuthority()],
    validTo: authorityValidTo,
    signWith: keys.privateKey,
  });
  return authority({ organization, cert, subject: issuer, key: keys.privateKey });
}

interface AuthorityParts {
  readonly organization: string;
  readonly cert: string;
  readonly subject: Buffer;
  readonly key: KeyObject;
}

function authority({ organization, cert, subject: issuer, key }: AuthorityParts): Authority {
  return {
    cert,
    issue: (commonName, { loopback = false, validTo = FOREVER, rsaBits, curve = 'P-256', unit, attributes } = {}) => {
      const own =
        rsaBits === undefined
          ? generateKeyPairSync('ec', { namedCurve: curve })
          : generateKeyPairSync('rsa', { modulusLength: rsaBits });
      return {
        cert: certificate({
          issuer,
          subject: distinguishedName(organization, commonName, unit),
          subjectKey: own.publicKey,
          extensions: [
            ...(loopback ? [loopbackNames()] : []),
            ...(attributes === undefined ? [] : [attributesOf(attributes)]),
          ],
          validTo,
          signWith: key,
        }),
        key: String(own.privateKey.export({ type: 'pkcs8', format: 'pem' })),
      };
    },
    intermediate: (commonName) => {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const subject = distinguishedName(organization, commonName);
      const given = { issuer, subject, subjectKey: own.publicKey, validTo: FOREVER, signWith: key };
      return authority({
        organization,
        cert: certificate({ ...given, extensions: [isAuthority()] }),
        subject,
        key: own.privateKey,
      });
    },
    revoke: (...certificates) => {
      const time = utcTime(new Date('2021-01-01T00:00:00Z'));
      const entries = certificates.map((one) => {
        const serial = Buffer.from(new X509Certificate(one).serialNumber, 'hex');
        return der(SEQUENCE, der(INTEGER, serial), time);
      });
      const version2 = der(INTEGER, Buffer.from([1]));
      const body = der(SEQUENCE, version2, algorithmOf(key), issuer, time, time, der(SEQUENCE, ...entries));
      return pem('X509 CRL', signed(body, key));
    },
  };
}

const isAuthority = (): Buffer => extension(BASIC_CONSTRAINTS, true, der(SEQUENCE, der(BOOLEAN, TRUE)));

function certificate({
  issuer,
  subject,
  subjectKey,
  extensions,
  validTo,
  signWith,
}: {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly subjectKey: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly validTo: Date;
  readonly signWith: KeyObject;
}): string {
  const validity = der(SEQUENCE, utcTime(new Date('2020-01-01T00:00:00Z')), utcTime(validTo));
  const version3 = der(VERSION, der(INTEGER, Buffer.from([2])));
  const serial = der(INTEGER, Buffer.from([0x01]), randomBytes(8));
  const spki = subjectKey.export({ type: 'spki', format: 'der' });
  const trailer = extensions.length === 0 ? [] : [der(EXTENSIONS, der(SEQUENCE, ...extensions))];
  const body = der(SEQUENCE, ...[version3, serial, algorithmOf(signWith), issuer, validity, subject, spki, ...trailer]);
  return pem('CERTIFICATE', signed(body, signWith));
}

const isP384 = ({ asymmetricKeyDetails }: KeyObject): boolean => asymmetricKeyDetails?.namedCurve === 'secp384r1';

const algorithmOf = (key: KeyObject): Buffer => der(SEQUENCE, isP384(key) ? ECDSA_WITH_SHA384 : ECDSA_WITH_SHA256);

function signed(body: Buffer, key: KeyObject): Buffer {
  const signature = sign(isP384(key) ? 'sha384' : 'sha256', body, key);
  return der(SEQUENCE, body, algorithmOf(key), der(BIT_STRING, Buffer.from([0]), signature));
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`;
}

function distinguishedName(organization: string, commonName: string, unit?: string): Buffer {
  const named = (type: Buffer, text: string) => der(SET, der(SEQUENCE, type, der(UTF8_STRING, Buffer.from(text))));
  const units = unit === undefined ? [] : [named(UNIT, unit)];
  return der(SEQUENCE, named(ORGANIZATION, organization), ...units, named(COMMON_NAME, commonName));
}

/** YYMMDDhhmmssZ. */
function utcTime(time: Date): Buffer {
  return der(UTC_TIME, Buffer.from(`${time.toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`));
}

function extension(id: Buffer, critical: boolean, value: Buffer): Buffer {
  return der(SEQUENCE, id, ...(critical ? [der(BOOLEAN, TRUE)] : []), der(OCTET_STRING, value));
}

function loopbackNames(): Buffer {
  const names = der(SEQUENCE, der(DNS_NAME, Buffer.from('localhost')), der(IP_ADDRESS, LOOPBACK));
  return extension(SUBJECT_ALT_NAME, false, names);
}

function attributesOf(attrs: Readonly<Record<string, string>>): Buffer {
  return extension(ATTRIBUTES, false, Buffer.from(JSON.stringify({ attrs })));
}

/** Tag, length, contents. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const contents = Buffer.concat(parts);
  const { length } = contents;
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), contents]);
}

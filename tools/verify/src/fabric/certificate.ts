import { Bytes } from '@sealgate/json';
import {
  type BasicConstraints,
  Certificate as ParsedCertificate,
  CertificateRevocationList as ParsedRevocationList,
} from 'pkijs';

/** A certificate (RFC 5280), as far as a member of a Fabric channel needs it. */
export interface Certificate {
  /** The DER bytes in hex: two are the same exactly if these are. */
  readonly der: string;
  /** The object identifier of the curve of its key; undefined: it is no key of an elliptic curve. */
  readonly curve: string | undefined;
  readonly spki: Uint8Array<ArrayBuffer>;
  /** For people: `CN=peer0,OU=peer`. */
  readonly subject: string;
  readonly units: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** How many authorities may follow below it; undefined: it is no authority. */
  readonly authorityDepth: number | undefined;
  readonly parsed: ParsedCertificate;
}

export interface RevocationList {
  readonly parsed: ParsedRevocationList;
}

const BASIC_CONSTRAINTS = '2.5.29.19';
const KEY_USAGE = '2.5.29.15';
/** Extensions that are evaluated here or do not concern a member: others must not be critical. */
const KNOWN_EXTENSIONS: readonly string[] = [BASIC_CONSTRAINTS, KEY_USAGE, '2.5.29.37', '2.5.29.17', '2.5.29.35'];
const CERT_SIGN_BIT = 0x04;
const EC_KEY = '1.2.840.10045.2.1';
const NAMES: Readonly<Record<string, string>> = { '2.5.4.3': 'CN', '2.5.4.10': 'O', '2.5.4.11': 'OU' };
const UNIT = '2.5.4.11';

/** Undefined if the text is not one certificate in PEM, or has critical extensions that are unknown here. */
export function readCertificate(pem: string): Certificate | undefined {
  const der = derOf(pem, 'CERTIFICATE');
  if (der === undefined) return undefined;
  try {
    const parsed = ParsedCertificate.fromBER(new Uint8Array(der));
    const extensions = parsed.extensions ?? [];
    if (extensions.some(({ critical, extnID }) => critical && !KNOWN_EXTENSIONS.includes(extnID))) return undefined;
    const names = parsed.subject.typesAndValues.map(({ type, value }) => ({
      type,
      text: String((value as { readonly valueBlock: { readonly value: unknown } }).valueBlock.value),
    }));
    return {
      der: der.toString('hex'),
      curve: curveOf(parsed),
      spki: new Uint8Array(parsed.subjectPublicKeyInfo.toSchema().toBER()),
      subject: names.flatMap(({ type, text }) => (NAMES[type] === undefined ? [] : `${NAMES[type]}=${text}`)).join(','),
      units: names.flatMap(({ type, text }) => (type === UNIT ? [text] : [])),
      notBeforeMs: parsed.notBefore.value.getTime(),
      notAfterMs: parsed.notAfter.value.getTime(),
      authorityDepth: authorityDepth(parsed),
      parsed,
    };
  } catch {
    return undefined; // The library throws errors of many kinds for bytes that are no certificate.
  }
}

/** Undefined if the text is not one revocation list in PEM. */
export function readRevocationList(pem: string): RevocationList | undefined {
  const der = derOf(pem, 'X509 CRL');
  if (der === undefined) return undefined;
  try {
    return { parsed: ParsedRevocationList.fromBER(new Uint8Array(der)) };
  } catch {
    return undefined;
  }
}

/** Whether an authority issued a certificate: its name, its right to, and its signature. */
export async function isIssuedBy({ parsed }: Certificate, authority: Certificate): Promise<boolean> {
  if (authority.authorityDepth === undefined || !parsed.issuer.isEqual(authority.parsed.subject)) return false;
  return parsed.verify(authority.parsed).catch(() => false);
}

export async function isListOf({ parsed }: RevocationList, authority: Certificate): Promise<boolean> {
  if (!parsed.issuer.isEqual(authority.parsed.subject)) return false;
  return parsed.verify({ issuerCertificate: authority.parsed }).catch(() => false);
}

export function isRevokedBy({ parsed: list }: RevocationList, { parsed }: Certificate): boolean {
  return list.issuer.isEqual(parsed.issuer) && list.isCertificateRevoked(parsed);
}

function derOf(pem: string, label: string): Bytes | undefined {
  const [, base64] =
    new RegExp(`^\\s*-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]+)-----END ${label}-----\\s*$`).exec(pem) ?? [];
  if (base64 === undefined) return undefined;
  return Bytes.from(base64.replaceAll(/\s/g, ''), 'base64');
}

function curveOf({ subjectPublicKeyInfo: { algorithm } }: ParsedCertificate): string | undefined {
  if (algorithm.algorithmId !== EC_KEY) return undefined;
  const parameters = algorithm.algorithmParams as { readonly valueBlock?: { toString(): string } } | undefined;
  return parameters?.valueBlock?.toString();
}

function authorityDepth({ extensions = [] }: ParsedCertificate): number | undefined {
  const valueOf = (id: string): unknown => extensions.find(({ extnID }) => extnID === id)?.parsedValue;
  const constraints = valueOf(BASIC_CONSTRAINTS) as BasicConstraints | undefined;
  if (constraints?.cA !== true) return undefined;
  const usage = valueOf(KEY_USAGE) as { readonly valueBlock: { readonly valueHexView: Uint8Array } } | undefined;
  if (usage !== undefined && ((usage.valueBlock.valueHexView[0] ?? 0) & CERT_SIGN_BIT) === 0) return undefined;
  const { pathLenConstraint } = constraints;
  return typeof pathLenConstraint === 'number' ? pathLenConstraint : Number.POSITIVE_INFINITY;
}

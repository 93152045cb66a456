import { verify, X509Certificate, type KeyObject } from 'node:crypto';
import { msp } from '@hyperledger/fabric-protos';

/** Half the order of P-256 (SEC 2, 2.4.2): Fabric accepts only the lower of the two valid signatures. */
const HALF_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n / 2n;

/** Membership of organisations by certificates of their CAs. No revocation, no expiry. */
export interface Membership {
  /** Undefined for a creator that is not a member of a known organisation, or malformed. */
  find(creator: Uint8Array): Member | undefined;
  /** The MSP id claimed by the creator; undefined if malformed. */
  claimedMspId(creator: Uint8Array): string | undefined;
}

interface Member {
  readonly mspId: string;
  /** Whether the member signed these bytes: ECDSA over P-256 and SHA-256, in the low form. */
  signed(bytes: Uint8Array, signature: Uint8Array): boolean;
}

export function membership(authorities: ReadonlyMap<string, string>): Membership {
  const keys = new Map([...authorities].map(([mspId, cert]) => [mspId, new X509Certificate(cert).publicKey]));
  const known = new Map<string, Member>();
  return {
    claimedMspId: (creator) => parseCreator(creator)?.mspId,
    find: (creator) => {
      const name = Buffer.from(creator).toString('base64');
      const found = known.get(name) ?? admit(creator, keys);
      if (found !== undefined) known.set(name, found);
      return found;
    },
  };
}

function admit(creator: Uint8Array, authorities: ReadonlyMap<string, KeyObject>): Member | undefined {
  const parsed = parseCreator(creator);
  const authority = parsed === undefined ? undefined : authorities.get(parsed.mspId);
  if (parsed === undefined || authority === undefined || !parsed.certificate.verify(authority)) return undefined;
  const { publicKey } = parsed.certificate;
  return {
    mspId: parsed.mspId,
    signed: (bytes, signature) => isLowS(signature) && verify('sha256', bytes, publicKey, signature),
  };
}

function parseCreator(creator: Uint8Array): { mspId: string; certificate: X509Certificate } | undefined {
  try {
    const identity = msp.SerializedIdentity.deserializeBinary(creator);
    return { mspId: identity.getMspid(), certificate: new X509Certificate(Buffer.from(identity.getIdBytes_asU8())) };
  } catch {
    return undefined; // Malformed.
  }
}

/** A DER sequence of the integers r and s; both are shorter than 128 bytes. */
export function isLowS(signature: Uint8Array): boolean {
  const bytes = Buffer.from(signature);
  const rLength = bytes[3];
  if (bytes[0] !== 0x30 || bytes[2] !== 0x02 || rLength === undefined) return false;
  const s = bytes.subarray(6 + rLength);
  return s.length > 0 && BigInt(`0x${s.toString('hex')}`) <= HALF_ORDER;
}

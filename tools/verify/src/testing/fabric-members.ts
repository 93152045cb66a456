import { createPrivateKey, sign } from 'node:crypto';
import { msp } from '@hyperledger/fabric-protos';
import { certificateAuthority, type IssueOptions } from '@sealgate/testing/fabric';

/** A member of an organisation, with its real key. */
export interface Signer {
  readonly mspId: string;
  readonly cert: string;
  readonly key: string;
}

type Authority = ReturnType<typeof certificateAuthority>;

export function signerOf(mspId: string, authority: Authority, name: string, options: IssueOptions = {}): Signer {
  return { mspId, ...authority.issue(name, options) };
}

/** Two organisations of a channel: the second has an intermediate authority and a peer with a key of P-384. */
export const north = certificateAuthority('North');
export const south = certificateAuthority('South', undefined, 'P-384');
export const southIssuer = south.intermediate('issuer.south');
export const client = signerOf('NorthMSP', north, 'client', { unit: 'client' });
export const northPeer = signerOf('NorthMSP', north, 'peer0', { unit: 'peer' });
export const southPeer = signerOf('SouthMSP', southIssuer, 'peer0', { unit: 'peer', curve: 'P-384' });

export const CHANNEL = 'both';
export const CHAINCODE = 'records';

/** A trust file of these organisations: a peer of each must sign. */
export const trustFile = () => ({
  v: 1,
  kind: 'fabric-trust',
  channel: CHANNEL,
  organizations: [
    { mspId: 'NorthMSP', roots: [north.cert], intermediates: [] as string[], revocationLists: [] as string[], units },
    {
      mspId: 'SouthMSP',
      roots: [south.cert],
      intermediates: [southIssuer.cert],
      revocationLists: [] as string[],
      units,
    },
  ],
  chaincodes: [
    {
      name: CHAINCODE,
      policy: { n: 2, of: ['NorthMSP', 'SouthMSP'].map((mspId) => ({ mspId, role: 'peer' })) },
    },
  ],
});
const units = { client: { unit: 'client' }, peer: { unit: 'peer' }, admin: { unit: 'admin' } };

export function identityOf({ mspId, cert }: Signer): Buffer {
  const identity = new msp.SerializedIdentity();
  identity.setMspid(mspId);
  identity.setIdBytes(Buffer.from(cert));
  return Buffer.from(identity.serializeBinary());
}

const ORDERS = {
  prime256v1: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  secp384r1: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
};

export function signLowS({ key }: Signer, bytes: Uint8Array): Buffer {
  const privateKey = createPrivateKey(key);
  const order = ORDERS[privateKey.asymmetricKeyDetails?.namedCurve as keyof typeof ORDERS];
  for (;;) {
    const signature = sign('sha256', bytes, privateKey);
    if (sOf(signature) <= order / 2n) return signature;
  }
}

const sOf = (signature: Buffer): bigint => BigInt(`0x${signature.subarray(6 + signature[3]!).toString('hex')}`);

/** The other signature over the same bytes by the same key, which Fabric rejects. P-256 only. */
export function inHighForm(signature: Buffer): Buffer {
  const r = signature.subarray(2, 4 + signature[3]!);
  const s = Buffer.from((ORDERS.prime256v1 - sOf(signature)).toString(16).padStart(64, '0'), 'hex');
  // The higher one of the two has its first bit set, so it needs a zero before it.
  const integer = Buffer.concat([Buffer.from([0x02, s.length + 1, 0]), s]);
  return Buffer.concat([Buffer.from([0x30, r.length + integer.length]), r, integer]);
}

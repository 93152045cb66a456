import type { JsonValue } from '@sealgate/json';
import {
  hasMember,
  isObject,
  listAt,
  numberAt,
  objectAt,
  type Place,
  rootObject,
  stringAt,
  stringsAt,
  UnreadableError,
  valueAt,
} from '../shape.ts';
import { type Certificate, isListOf, readCertificate, readRevocationList, type RevocationList } from './certificate.ts';

export const ROLES = ['client', 'peer', 'admin', 'orderer'] as const;
export type Role = (typeof ROLES)[number];

/** How an organisation marks the roles of its members: the unit in the certificate, perhaps of one authority only. */
export type RoleUnits = Readonly<
  Partial<Record<Role, { readonly unit: string; readonly issuer: Certificate | undefined }>>
>;

/** An organisation that is trusted, with the authorities of its members. */
export interface TrustedOrganization {
  readonly mspId: string;
  readonly roots: readonly Certificate[];
  readonly intermediates: readonly Certificate[];
  readonly revocationLists: readonly RevocationList[];
  /** Undefined: its members have no roles. */
  readonly units: RoleUnits | undefined;
}

/** A policy of endorsement: `n` of the rules, or one member of this role. */
export type EndorsementPolicy =
  | { readonly n: number; readonly of: readonly EndorsementPolicy[] }
  | { readonly mspId: string; readonly role: Role | 'member' };

export interface ChannelTrust {
  readonly name: string;
  readonly channel: string;
  readonly organizations: readonly TrustedOrganization[];
  /** By the name of the chaincode. */
  readonly policies: ReadonlyMap<string, EndorsementPolicy>;
}

const MAX_POLICY_DEPTH = 16;

/** Parses a trust file of `npx sealgate fabric trust`. @throws UnreadableError for one that cannot be relied on. */
export async function readTrustFile(name: string, value: JsonValue): Promise<ChannelTrust> {
  const root = rootObject(name, value);
  if (valueAt(root, 'kind') !== 'fabric-trust' || valueAt(root, 'v') !== 1)
    throw new UnreadableError(`${name} is no trust file of a Fabric channel (kind fabric-trust, v 1).`);
  const organizations: TrustedOrganization[] = [];
  for (const place of placesAt(root, 'organizations')) organizations.push(await readOrganization(place));
  const policies = placesAt(root, 'chaincodes').map(
    (place) => [stringAt(place, 'name'), readPolicy(objectAt(place, 'policy'), 0)] as const,
  );
  return { name, channel: stringAt(root, 'channel'), organizations, policies: new Map(policies) };
}

function placesAt(place: Place, member: string): Place[] {
  return listAt(place, member).map((object, index) => {
    const where = `${place.where}/${member}/${index}`;
    if (!isObject(object)) throw new UnreadableError(`${where} is not an object.`);
    return { where, object };
  });
}

async function readOrganization(place: Place): Promise<TrustedOrganization> {
  const [roots, intermediates] = ['roots', 'intermediates'].map((member) =>
    stringsAt(place, member).map((pem, index) => authorityOf(pem, `${place.where}/${member}/${index}`)),
  ) as [Certificate[], Certificate[]];
  const revocationLists = stringsAt(place, 'revocationLists').map((pem, index) => {
    const list = readRevocationList(pem);
    if (list === undefined) throw new UnreadableError(`${place.where}/revocationLists/${index} is no revocation list.`);
    return list;
  });
  for (const [index, list] of revocationLists.entries()) {
    const signed = await Promise.all([...roots, ...intermediates].map((authority) => isListOf(list, authority)));
    // A list that is not from an authority would be passed over, and its certificates taken for valid.
    if (!signed.includes(true))
      throw new UnreadableError(`${place.where}/revocationLists/${index} is not signed by an authority of it.`);
  }
  return {
    mspId: stringAt(place, 'mspId'),
    roots,
    intermediates,
    revocationLists,
    units: valueAt(place, 'units') === null ? undefined : readUnits(objectAt(place, 'units')),
  };
}

function authorityOf(pem: string, where: string): Certificate {
  const certificate = readCertificate(pem);
  if (certificate?.authorityDepth === undefined)
    throw new UnreadableError(`${where} is no certificate of an authority (PEM).`);
  return certificate;
}

function readUnits(place: Place): RoleUnits {
  const entries = ROLES.filter((role) => hasMember(place, role)).map((role) => {
    const unit = objectAt(place, role);
    const issuer = hasMember(unit, 'issuer')
      ? authorityOf(stringAt(unit, 'issuer'), `${unit.where}/issuer`)
      : undefined;
    return [role, { unit: stringAt(unit, 'unit'), issuer }] as const;
  });
  return Object.fromEntries(entries);
}

function readPolicy(place: Place, depth: number): EndorsementPolicy {
  if (depth > MAX_POLICY_DEPTH) throw new UnreadableError(`${place.where} is too deep.`);
  if (!hasMember(place, 'of')) {
    const role = stringAt(place, 'role');
    if (role !== 'member' && !(ROLES as readonly string[]).includes(role))
      throw new UnreadableError(`${place.where}/role is none of member, ${ROLES.join(', ')}.`);
    return { mspId: stringAt(place, 'mspId'), role: role as Role | 'member' };
  }
  const n = numberAt(place, 'n');
  // None of them would be satisfied by nobody.
  if (!Number.isInteger(n) || n < 1) throw new UnreadableError(`${place.where}/n is not a whole number from 1.`);
  return { n, of: placesAt(place, 'of').map((rule) => readPolicy(rule, depth + 1)) };
}

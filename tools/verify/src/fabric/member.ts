import type { Bytes } from '@sealgate/json';
import { type Certificate, isIssuedBy, isRevokedBy, readCertificate } from './certificate.ts';
import { readIdentity } from './fabric-messages.ts';
import { type ChannelTrust, type EndorsementPolicy, type Role, ROLES, type TrustedOrganization } from './trust-file.ts';

/** Somebody who signed, as the trusted organisation knows them. */
export interface Member {
  readonly mspId: string;
  readonly certificate: Certificate;
  /** Undefined where the organisation has no roles, or none that the certificate names. */
  readonly role: Role | undefined;
  /** Whether the organisation takes it for a member: with roles, every member has exactly one. */
  readonly isMember: boolean;
  /** The authorities that revoked it, or one of its authorities; empty: none. */
  readonly revoked: readonly string[];
}

interface Unknown {
  readonly problem: string;
}

const MAX_AUTHORITIES = 8;

/**
 * Finds a serialized identity in the trusted organisations: a chain of issuers up to a root. As in Fabric, the time is
 * not a condition of a chain; see `check-attested.ts` for the certificate itself.
 */
export async function identify(trust: ChannelTrust, identity: Bytes): Promise<Member | Unknown> {
  const { mspId, pem } = readIdentity(identity);
  const organization = trust.organizations.find((one) => one.mspId === mspId);
  if (organization === undefined) return { problem: `${mspId} is not in the trust file` };
  const certificate = readCertificate(pem);
  if (certificate === undefined) return { problem: `the certificate of ${mspId} cannot be read` };
  if (certificate.authorityDepth !== undefined)
    return { problem: `${certificate.subject} of ${mspId} is an authority, which signs nothing else` };
  const chain = await chainOf(certificate, organization, 0);
  if (chain === undefined)
    return { problem: `${certificate.subject} has no certificate by an authority of ${mspId} in the trust file` };
  const roles = rolesOf(certificate, chain[0], organization);
  const isOne = organization.units === undefined || roles.length === 1;
  return {
    mspId,
    certificate,
    role: isOne ? roles[0] : undefined,
    isMember: isOne,
    revoked: revokedIn([certificate, ...chain.slice(0, -1)], organization),
  };
}

/** The issuers of a certificate, up to a root; undefined: there is no such chain. `below`: authorities under these. */
async function chainOf(
  certificate: Certificate,
  organization: TrustedOrganization,
  below: number,
): Promise<readonly Certificate[] | undefined> {
  if (below >= MAX_AUTHORITIES) return undefined;
  for (const authority of [...organization.roots, ...organization.intermediates]) {
    const isDeepEnough = (authority.authorityDepth ?? -1) >= below;
    if (!isDeepEnough || !(await isIssuedBy(certificate, authority))) continue;
    // An authority that has others below it certifies no members, as in Fabric.
    if (below === 0 && (await hasAuthoritiesBelow(authority, organization))) continue;
    if (organization.roots.some(({ der }) => der === authority.der)) return [authority];
    const further = await chainOf(authority, organization, below + 1);
    if (further !== undefined) return [authority, ...further];
  }
  return undefined;
}

async function hasAuthoritiesBelow(authority: Certificate, { intermediates }: TrustedOrganization): Promise<boolean> {
  const issued = await Promise.all(
    intermediates.filter(({ der }) => der !== authority.der).map((one) => isIssuedBy(one, authority)),
  );
  return issued.includes(true);
}

function rolesOf({ units: own }: Certificate, issuer: Certificate | undefined, { units = {} }: TrustedOrganization) {
  return ROLES.filter((role) => {
    const unit = units[role];
    if (unit === undefined || !own.includes(unit.unit)) return false;
    return unit.issuer === undefined || unit.issuer.der === issuer?.der;
  });
}

function revokedIn(certificates: readonly Certificate[], { revocationLists }: TrustedOrganization): string[] {
  return certificates
    .filter((certificate) => revocationLists.some((list) => isRevokedBy(list, certificate)))
    .map(({ subject }) => subject);
}

/** Whether these members, each counted once, satisfy a policy; as Fabric evaluates it. */
export function isSatisfied(policy: EndorsementPolicy, members: readonly Member[]): boolean {
  const distinct = [...new Map(members.map((member) => [member.certificate.der, member])).values()];
  return evaluate(policy, distinct) !== undefined;
}

/** The members that are left once the policy is satisfied; undefined: it is not. */
function evaluate(policy: EndorsementPolicy, members: readonly Member[]): readonly Member[] | undefined {
  if (!('of' in policy)) {
    const at = members.findIndex((member) => isOf(member, policy));
    return at < 0 ? undefined : members.toSpliced(at, 1);
  }
  let left = members;
  let satisfied = 0;
  for (const rule of policy.of) {
    const rest = evaluate(rule, left);
    if (rest === undefined) continue;
    left = rest;
    satisfied += 1;
  }
  return satisfied >= policy.n ? left : undefined;
}

function isOf(member: Member, { mspId, role }: Extract<EndorsementPolicy, { readonly role: string }>): boolean {
  if (member.mspId !== mspId || !member.isMember) return false;
  return role === 'member' || member.role === role;
}

/** `2 of (Org1MSP.peer, Org2MSP.peer)`. */
export function policyText(policy: EndorsementPolicy): string {
  if (!('of' in policy)) return `${policy.mspId}.${policy.role}`;
  return `${policy.n} of (${policy.of.map(policyText).join(', ')})`;
}

import { AppError, refusedMember } from '@sealgate/errors';
import type { AccessToken, TokenRefusal } from '@sealgate/identity';
import type { TableList } from '@sealgate/paging';
import { closedObject, lineOfText, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { Optional, OrNull, Text, Time } from '../schemas.ts';
import type { RiskCaller } from './caller.ts';
import { Email, foldedEmail, INVITATION_MS } from './invitation.ts';
import { adminEntry, findPerson, type AdminContext, type PeopleStore } from './manage-orgs.ts';
import { timeText } from './resource.ts';
import type { AuditEntry } from './resource-ports.ts';

const Issuer = lineOfText({ min: 1, max: 500 });
const Subject = lineOfText({ min: 1, max: 255 });
/** Either issuer and subject, or the e-mail address to invite. */
export const NewIdentity = closedObject({
  issuer: Optional({ ...Issuer, description: 'The issuer, exactly as in its tokens.' }),
  subject: Optional({ ...Subject, description: 'The subject in its tokens.' }),
  email: Optional({ ...Email, description: 'An address verified by a configured provider.' }),
});
type NewIdentity = Static<typeof NewIdentity>;

/** An identity of a person at an identity provider; an invitation while issuer and subject are null. */
export const Identity = named(
  'Identity',
  Type.Object({
    id: Text,
    issuer: OrNull(Text),
    subject: OrNull(Text),
    email: OrNull(Type.String({ description: 'The invited e-mail address.' })),
    createdAt: Time,
    expiresAt: OrNull(Time),
  }),
);
export type Identity = Static<typeof Identity>;

export const IDENTITY_ORDERS = ['createdAt', 'email', 'expiresAt'] as const;
export type IdentityOrder = (typeof IDENTITY_ORDERS)[number];

/** Writes each change with its audit event. */
export interface IdentityStore {
  /** False, without writing: the identity is already a person of this organisation. */
  insert(of: PersonRef, identity: Identity, entry: AuditEntry): Promise<boolean>;
  readonly list: TableList<{ readonly personId: string }, Identity, IdentityOrder>;
  /** Writes the entry only if something was removed. */
  remove(
    of: PersonRef,
    removal: { readonly id: string; readonly at: Date },
    entry: AuditEntry,
  ): Promise<'removed' | 'before' | 'missing'>;
}

interface PersonRef {
  readonly orgId: string;
  readonly personId: string;
}

export interface IdentityPorts {
  readonly people: PeopleStore;
  readonly identities: IdentityStore;
  readonly newId: (prefix: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * @throws AppError INVALID_REQUEST unless the body has either issuer and subject, or email; NOT_FOUND; ALREADY_EXISTS if
 *   the identity is already a person of this organisation.
 */
export async function addIdentity(
  ports: IdentityPorts,
  of: PersonRef,
  { identity, by }: { readonly identity: NewIdentity; readonly by: AdminContext },
): Promise<Identity> {
  const { issuer = null, subject = null, email } = identity;
  const isWhole = email === undefined ? issuer !== null && subject !== null : issuer === null && subject === null;
  if (!isWhole) throw refusedMember('INVALID_REQUEST', '', 'Send either issuer and subject, or email.');
  await findPerson(ports.people, of.orgId, of.personId);
  const nowMs = ports.now();
  const made: Identity = {
    id: ports.newId('idn_'),
    issuer,
    subject,
    email: email === undefined ? null : foldedEmail(email),
    createdAt: timeText(nowMs),
    expiresAt: email === undefined ? null : timeText(nowMs + INVITATION_MS),
  };
  if (!(await ports.identities.insert(of, made, adminEntry('identity', 'create', made.id, by))))
    throw refusedMember(
      'ALREADY_EXISTS',
      email === undefined ? '/subject' : '/email',
      'This identity already belongs to a person of the organisation.',
    );
  return made;
}

/** Takes effect on the next request; idempotent. @throws AppError NOT_FOUND. */
export async function removeIdentity(
  { people, identities, now }: IdentityPorts,
  of: PersonRef,
  { id, by }: { readonly id: string; readonly by: AdminContext },
): Promise<void> {
  await findPerson(people, of.orgId, of.personId);
  const removal = { id, at: new Date(now()) };
  if ((await identities.remove(of, removal, adminEntry('identity', 'delete', id, by))) === 'missing')
    throw new AppError('NOT_FOUND', 'The person has no such identity.');
}

/** An invitation that waits: of a person to an identity, or of somebody who becomes a person. */
export interface OpenInvitation {
  readonly id: string;
  readonly orgId: string;
  readonly makes: 'identity' | 'person';
}

/**
 * The people of an identity, at most one per organisation, and the invitations open for its e-mail address in the others.
 */
export interface SignedIn {
  readonly callers: readonly RiskCaller[];
  readonly invitations: readonly OpenInvitation[];
}

export interface SignInPorts {
  /** @throws AppError UNAVAILABLE */
  find(token: AccessToken, verifiedEmail: string | undefined): Promise<SignedIn>;
  /** Turns each invitation into an identity, and a person if there is none, once, with the audit events. */
  accept(token: AccessToken, invitations: readonly OpenInvitation[]): Promise<void>;
}

/**
 * The person of a token in the organisation named by the request, or why there is none. With
 * `mayBeAny`, any organisation will do: the request neither changes nor returns data of one.
 *
 * Members of any organisation invite whom they like, so their invitation is accepted only by somebody who belongs to
 * none, or by a request that names the organisation: else strangers could make every request of a person ambiguous.
 * @throws AppError INVALID_HEADER if several organisations are possible, UNAVAILABLE.
 */
export async function signIn(
  ports: SignInPorts,
  token: AccessToken,
  { organization, mayBeAny }: { readonly organization: string | undefined; readonly mayBeAny: boolean },
): Promise<RiskCaller | { readonly refused: TokenRefusal }> {
  const { email: address, emailVerified } = emailOf(token);
  // Unverified addresses are ignored: anybody can claim them.
  const email = address !== null && emailVerified ? foldedEmail(address) : undefined;
  const first = await ports.find(token, email);
  const isNobody = first.callers.length === 0 && organization === undefined;
  const taken = first.invitations.filter(
    ({ orgId, makes }) => makes === 'identity' || orgId === organization || isNobody,
  );
  if (taken.length > 0) await ports.accept(token, taken);
  const { callers } = taken.length > 0 ? await ports.find(token, undefined) : first;
  if (callers.length === 0) return { refused: 'not_linked' };
  const named = organization === undefined ? callers : callers.filter(({ orgId }) => orgId === organization);
  const [caller, another] = named;
  if (caller === undefined) return { refused: 'organization' };
  if (another !== undefined && !mayBeAny)
    throw new AppError('INVALID_HEADER', 'X-Organization must name one of your organisations.', {
      faults: [
        { in: 'header', pointer: '/X-Organization', detail: 'is required, as you belong to several organisations' },
      ],
    });
  const invitedTo = first.invitations.filter((one) => !taken.includes(one)).map(({ orgId }) => orgId);
  return { ...caller, invitedTo };
}

/** The address that the provider tells, and whether it verified it: some send a boolean, some a text. */
export function emailOf({ claims: { email, email_verified: isVerified } }: AccessToken): {
  readonly email: string | null;
  readonly emailVerified: boolean;
} {
  const isAddress = typeof email === 'string' && email.length <= 254;
  return { email: isAddress ? email : null, emailVerified: isVerified === true || isVerified === 'true' };
}

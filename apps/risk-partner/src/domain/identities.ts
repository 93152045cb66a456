import { AppError } from '@sealgate/errors';
import type { AccessToken } from '@sealgate/identity';
import type { RiskCaller } from './caller.ts';
import { adminDeed, findPerson, type Administering, type PeopleStore } from './manage-orgs.ts';
import type { Deed } from './resource-ports.ts';

/** Who a person is at an identity provider; an invitation while issuer and subject are null. */
export interface Identity {
  readonly id: string;
  readonly issuer: string | null;
  readonly subject: string | null;
  /** Whom the invitation was for, in lower case. */
  readonly email: string | null;
  readonly createdAt: Date;
  /** Until when an invitation waits. */
  readonly expiresAt: Date | null;
}

/** Changes are written with their audit events. */
export interface IdentityStore {
  /** False, and nothing is written: the identity is somebody of this organisation already. */
  insert(of: PersonRef, identity: Identity, deed: Deed): Promise<boolean>;
  list(personId: string, page: { readonly limit: number; readonly after: string }): Promise<Identity[]>;
  /** The deed is written where there was something to remove. */
  remove(
    of: PersonRef,
    removal: { readonly id: string; readonly at: Date },
    deed: Deed,
  ): Promise<'removed' | 'before' | 'missing'>;
}

export interface PersonRef {
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

const INVITED_FOR_MS = 14 * 86_400_000;

/** Either who somebody is, or the address under which they will come. */
export type NewIdentity = { readonly issuer: string; readonly subject: string } | { readonly email: string };

/** @throws AppError NOT_FOUND, ALREADY_EXISTS when the identity is somebody of this organisation. */
export async function addIdentity(
  ports: IdentityPorts,
  of: PersonRef,
  { identity, by }: { readonly identity: NewIdentity; readonly by: Administering },
): Promise<Identity> {
  await findPerson(ports.people, of.orgId, of.personId);
  const createdAt = new Date(ports.now());
  const nobody = { issuer: null, subject: null, email: null, expiresAt: null };
  const named =
    'email' in identity
      ? { ...nobody, email: identity.email.toLowerCase(), expiresAt: new Date(createdAt.getTime() + INVITED_FOR_MS) }
      : { ...nobody, ...identity };
  const made: Identity = { ...named, id: ports.newId('idn_'), createdAt };
  if (!(await ports.identities.insert(of, made, adminDeed('identity', 'create', made.id, by))))
    throw new AppError('ALREADY_EXISTS', 'This identity is somebody of the organisation already.');
  return made;
}

/** It ends with the next request. Again: nothing happens. @throws AppError NOT_FOUND. */
export async function removeIdentity(
  { people, identities, now }: IdentityPorts,
  of: PersonRef,
  { id, by }: { readonly id: string; readonly by: Administering },
): Promise<void> {
  await findPerson(people, of.orgId, of.personId);
  const removal = { id, at: new Date(now()) };
  if ((await identities.remove(of, removal, adminDeed('identity', 'delete', id, by))) === 'missing')
    throw new AppError('NOT_FOUND', 'There is no such identity of the person.');
}

/** The people that an identity is, one in each organisation, and the invitations that wait for it. */
export interface SignedIn {
  readonly callers: readonly RiskCaller[];
  readonly invitations: readonly string[];
}

export interface SignInPorts {
  /** @throws AppError UNAVAILABLE */
  find(token: AccessToken, verifiedEmail: string | undefined): Promise<SignedIn>;
  /** Each becomes an identity once, with its audit event. */
  accept(token: AccessToken, invitations: readonly string[]): Promise<void>;
}

/**
 * Who a token is, in the organisation that the request names; undefined where the identity is nobody there. Where it may be
 * any of them, the request has no effect and tells nothing of one.
 * @throws AppError INVALID_HEADER where several organisations could be meant, UNAVAILABLE.
 */
export async function signIn(
  ports: SignInPorts,
  token: AccessToken,
  { organization, mayBeAny }: { readonly organization: string | undefined; readonly mayBeAny: boolean },
): Promise<RiskCaller | undefined> {
  const email = verifiedEmailOf(token);
  let { callers, invitations } = await ports.find(token, email);
  if (invitations.length > 0) {
    await ports.accept(token, invitations);
    ({ callers, invitations } = await ports.find(token, undefined));
  }
  if (organization !== undefined) return callers.find(({ orgId }) => orgId === organization);
  if (callers.length > 1 && !mayBeAny)
    throw new AppError('INVALID_HEADER', 'X-Organization must name one of your organisations.', {
      faults: [
        { in: 'header', pointer: '/X-Organization', detail: 'is needed, since you are in several organisations' },
      ],
    });
  return callers[0];
}

/** An address that the provider has not verified is anybody's to claim. */
function verifiedEmailOf({ claims: { email, email_verified: isVerified } }: AccessToken): string | undefined {
  return isVerified === true && typeof email === 'string' && email.length <= 254 ? email.toLowerCase() : undefined;
}

import { closedObject, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { Optional, Text, Time } from '../schemas.ts';
import { NewScope, PersonScope } from './caller.ts';
import { Roles } from './permissions.ts';

export const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^@\\x00-\\x20\\x7f\\xa0]+@[^@\\x00-\\x20\\x7f\\xa0]+$',
});

/**
 * Folds ASCII letters alone. Unicode case folding would equate addresses of different people: the Kelvin sign (U+212A)
 * becomes k.
 */
export const foldedEmail = (email: string): string => email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** How long an invitation waits for a token with its address. */
export const INVITATION_MS = 14 * 86_400_000;

/** Somebody invited to an organisation. They become a person when they first sign in. */
const Invitation = Type.Object({
  id: Text,
  email: Text,
  roles: Roles,
  scope: PersonScope,
  invitedBy: { ...Text, description: 'The person who invited them.' },
  createdAt: Time,
  expiresAt: Time,
});
export type Invitation = Static<typeof Invitation>;

const LINK = 'Where they sign in. It holds no secret: only a token with the verified address accepts the invitation.';
export const ShownInvitation = named(
  'Invitation',
  Type.Object({ ...Invitation.properties, link: { ...Text, description: LINK } }),
);
export const MadeInvitation = named('MadeInvitation', Type.Pick(ShownInvitation, ['id', 'link', 'expiresAt']));

export const NewInvitation = closedObject({
  email: { ...Email, description: 'The address that their identity provider verifies.' },
  roles: Optional(Roles),
  scope: Optional(NewScope),
});
export type NewInvitation = Static<typeof NewInvitation>;

/** The invitations of a locked organisation that wait: not accepted, not deleted, not expired. */
export interface InvitationsChange {
  find(id: string): Promise<Invitation | undefined>;
  /** Whether the address waits for a token, or is that of a member who was invited by it. */
  isTaken(email: string): Promise<boolean>;
  count(): Promise<number>;
  madeBy(personId: string): Promise<Invitation[]>;
  insert(invitation: Invitation): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface InvitationReads {
  find(orgId: string, id: string): Promise<Invitation | undefined>;
  /** Ordered by id, after `after`. */
  list(orgId: string, page: { readonly limit: number; readonly after: string }): Promise<Invitation[]>;
}

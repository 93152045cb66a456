import type { ReactNode } from 'react';
import { phrase } from '../../shell/phrase.ts';

export const invitationsThatWait = 'Invitations that wait';
export const address = 'Address';
export const roles = 'Roles';
export const none = 'None';
export const invitedBy = 'Invited by';
export const ends = 'Ends';
export const actions = 'Actions';
export const actionsOf = (email: string) => `Actions of ${email}`;
export const withdraw = 'Withdraw';
export const nobodyIsInvited = 'Nobody is invited';
export const withdrawThisInvitation = 'Withdraw this invitation?';
export const withdrawThisInvitationHint = (email: string) => `A sign-in as ${email} makes nobody a member any more.`;
export const emailFault = 'Enter an e-mail address.';
export const inviteSomebody = 'Invite somebody';
export const invite = 'Invite';
export const emailAddress = 'E-mail address';
export const emailAddressHint = 'Their first sign-in with this address, verified, makes them a member; within 14 days.';
export const invitationOf = (email: string) => `Invitation of ${email}`;
export const noMailIsSent = 'No mail is sent';
export const noMailIsSentHint =
  'Copy the link and pass it on. It is no secret: only a sign-in with the verified address accepts the invitation.';
export const copyTheLink = 'Copy the link';
export const itEnds = (expiresAt: ReactNode): ReactNode => phrase`It ends ${expiresAt}.`;
export const myKeys = 'My keys';
export const newKey = 'New key';
export const noKeyYetHint = 'Make one for a program that acts for you.';
export const revokedKeyHint = 'Whatever uses it is refused from the next request on.';
export const myKeysIntro =
  'A key may do what you may in this organisation, by REST and by tools. It is shown once, when it is made.';
export const rotateTheKey = 'Rotate the key';
export const createKey = 'Create key';
export const endItAndCreateAnother = 'End it and create another';
export const rotate = 'Rotate';
export const label = 'Label';
export const labelHint = 'What uses the key.';
export const people = 'People';
export const peopleIntro = 'Roles decide what a person may do, their scope which rows they see.';
export const removeThisPerson = 'Remove this person?';
export const remove = 'Remove';
export const removeThisPersonHint = (name: string) =>
  `${name} is refused from the next request on, by sign-in and by key. Invitations that they made end.`;
export const wordsInIdOrName = 'Words in id or name';
export const name = 'Name';
export const rowsSet = 'Rows set';
export const id = 'Id';
export const copyTheIdOfThePerson = 'Copy the id of the person';
export const nobodyIsHere = 'Nobody is here';
export const lastSeen = 'Last seen';
export const never = 'Never';
export const you = 'You';
export const machine = 'Machine';
export const risksTheyOwn = 'Risks they own';
export const evidenceTheyOwn = 'Evidence they own';
export const assetsTheyOwn = 'Assets they own';
export const whatTheyDid = 'What they did';
export const rolesAndScope = 'Roles and scope';
export const allRows = 'all rows';
export const ownRows = 'own rows';
export const sensitiveRows = 'sensitive rows';
export const copyYourId = 'Copy your id';
export const youHaveNoRole = 'You have no role here yet: an owner of the organisation assigns roles.';
export const rolesAndRows = (roles: string, scope: string) => `${roles}. You see: ${scope}.`;
export const permissionsCounted = (count: number) => `What you may do (${count})`;
export const nothing = 'Nothing';
export const thisIsTheLastOwner = 'This is the last owner. Make somebody else an owner first.';
export const givesTooMuch =
  'You can give only roles and rows that you have yourself, never more to yourself, and only owners change owners.';
export const removedMeanwhile = 'Somebody else has removed this meanwhile. Close this and look again.';
export const save = 'Save';
export const seesAllRows = 'Sees all rows';
export const departments = 'Departments';
export const departmentsHint = 'Whose rows are seen besides their own.';
export const seesSensitiveRows = 'Sees sensitive rows';
export const seesSensitiveRowsHint =
  'Of the rows that they see anyway, those marked as sensitive too. Their own they see in any case.';
export const withoutRole = 'Without a role they see no rows.';
export const ownersSeeAll = 'Owners, administrators and risk managers see all rows, sensitive ones too.';
export const partnersSeeMetadata = 'Partners read the metadata of all rows but sensitive ones.';
export const auditorsSeeAllDepartments = 'Auditors and partners see the rows of all departments.';
export const contributorsSeeAllRows =
  'They read all risks, evidence and assets, and change the risks and evidence, of every department. Without this: only what they own, and the departments below.';
export const othersSeeAllRows =
  'They read all risks, evidence and assets, of every department. Without this: only what they own, and the departments below.';

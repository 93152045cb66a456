import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import type { CommandSpec } from '../command-spec.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'IDENTITY', member: 'id' },
  { title: 'ISSUER', member: 'issuer' },
  { title: 'SUBJECT', member: 'subject' },
  { title: 'INVITED', member: 'email' },
  { title: 'CREATED', member: 'createdAt' },
  { title: 'INVITATION ENDS', member: 'expiresAt' },
];

const list: CommandSpec<PageOptions> = {
  usage: 'identities list <orgId> <personId>',
  summary: 'List the identities and invitations of a person, oldest first',
  examples: ['sealgate people identities list org_01 per_01'],
  options: pageOptions(),
  run: (session, [orgId = '', personId = ''], options) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/identities`;
    return printList(
      session,
      { path, columns: COLUMNS, none: 'There are no identities: this person cannot sign in.' },
      options,
    );
  },
};

const UNLINKED: readonly Column[] = [
  { title: 'ISSUER', member: 'issuer' },
  { title: 'SUBJECT', member: 'subject' },
  { title: 'EMAIL', member: 'email' },
  { title: 'VERIFIED', member: 'emailVerified' },
  { title: 'LAST SEEN', member: 'lastSeenAt' },
];

const unlinked: CommandSpec<PageOptions> = {
  usage: 'identities unlinked',
  summary: 'List identities that signed in within 24 hours and belong to nobody, newest first',
  details: 'Link one by its issuer and subject; the e-mail address is only for display.',
  examples: ['sealgate people identities unlinked'],
  options: pageOptions(),
  run: (session, _arguments, options) =>
    printList(
      session,
      {
        path: apiPath`/identities/unlinked`,
        columns: UNLINKED,
        none: 'Nobody without a link presented a valid token in the last 24 hours.',
      },
      options,
    ),
};

const link: CommandSpec<{ readonly issuer: string; readonly subject: string }> = {
  usage: 'identities link <orgId> <personId>',
  summary: 'Link an identity to a person: issuer and subject of their access tokens',
  details:
    'It takes effect from the next request on. An identity is one person in an organisation, and may be a person in several.',
  examples: ['sealgate people identities link org_01 per_01 --issuer https://login.example.com --subject 00u1a2b3'],
  options: [
    new Option('--issuer <url>', 'the issuer, exactly as in its tokens').makeOptionMandatory(),
    new Option('--subject <text>', 'the subject in its tokens').makeOptionMandatory(),
  ],
  run: async (session, [orgId = '', personId = ''], { issuer, subject }) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/identities`;
    const answer = await session.api.json({ method: 'POST', path, body: { issuer, subject } });
    session.show(answer, (row) => `Linked.\n\n${rowFields(row)}`);
  },
};

const unlink: CommandSpec = {
  usage: 'identities unlink <orgId> <personId> <identityId>',
  summary: 'Remove an identity or an invitation; its tokens are rejected from the next request on',
  details: 'Keys of the person stay, including those created after signing in.',
  examples: ['sealgate people identities unlink org_01 per_01 idn_01'],
  run: async (session, [orgId = '', personId = '', identityId = '']) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/identities/${identityId}`;
    await session.api.nothing({ method: 'DELETE', path });
    session.say(`${identityId} is removed: its tokens are rejected from the next request on.`);
  },
};

const invite: CommandSpec<{ readonly email: string }> = {
  usage: 'identities invite <orgId> <personId>',
  summary: 'Link the first identity that signs in with this verified e-mail address within 14 days',
  details: 'No e-mail is sent: tell the person to sign in.',
  examples: ['sealgate people identities invite org_01 per_01 --email ada@example.com'],
  options: [new Option('--email <address>', 'an address verified by a configured provider').makeOptionMandatory()],
  run: async (session, [orgId = '', personId = ''], { email }) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/identities`;
    const answer = await session.api.json({ method: 'POST', path, body: { email } });
    session.show(answer, (row) => `Invited.\n\n${rowFields(row)}`);
  },
};

export const identityCommands: readonly CommandSpec[] = [list, link, unlink, invite, unlinked];

import { Option } from 'commander';
import { apiPath } from '../api-path.ts';
import type { CommandSpec } from '../command-spec.ts';
import { pageOptions, printList, type PageOptions } from '../print-list.ts';
import { rowFields } from '../row-fields.ts';
import type { Column } from '../row-table.ts';

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
  summary: 'List whom somebody signs in as, and their invitations, oldest first',
  examples: ['sealgate people identities list org_01 per_01'],
  options: pageOptions(),
  run: (session, [orgId = '', personId = ''], options) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/identities`;
    return printList(session, { path, columns: COLUMNS, none: 'They cannot sign in: there is no identity.' }, options);
  },
};

const link: CommandSpec<{ readonly issuer: string; readonly subject: string }> = {
  usage: 'identities link <orgId> <personId>',
  summary: 'Say whom somebody signs in as: issuer and subject of their access tokens',
  details:
    'It holds from the next request on. An identity is one person in an organisation, and may be a person in several.',
  examples: ['sealgate people identities link org_01 per_01 --issuer https://login.example.com --subject 00u1a2b3'],
  options: [
    new Option('--issuer <url>', 'the provider, exactly as its tokens name it').makeOptionMandatory(),
    new Option('--subject <text>', 'what the provider calls them').makeOptionMandatory(),
  ],
  run: async (session, [orgId = '', personId = ''], { issuer, subject }) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/identities`;
    const answer = await session.api.json({ method: 'POST', path, body: { issuer, subject } });
    session.show(answer, (row) => `Linked.\n\n${rowFields(row)}`);
  },
};

const unlink: CommandSpec = {
  usage: 'identities unlink <orgId> <personId> <identityId>',
  summary: 'Take an identity or an invitation away; its tokens are refused from the next request on',
  details: 'Keys of the person stay, also those that they minted when they were signed in.',
  examples: ['sealgate people identities unlink org_01 per_01 idn_01'],
  run: async (session, [orgId = '', personId = '', identityId = '']) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/identities/${identityId}`;
    await session.api.nothing({ method: 'DELETE', path });
    session.say(`${identityId} is gone: its tokens are refused from the next request on.`);
  },
};

const invite: CommandSpec<{ readonly email: string }> = {
  usage: 'identities invite <orgId> <personId>',
  summary: 'Let whoever first signs in with a verified e-mail address be somebody, within 14 days',
  details: 'Nothing is sent: tell them yourself to sign in.',
  examples: ['sealgate people identities invite org_01 per_01 --email ada@example.com'],
  options: [new Option('--email <address>', 'as a configured provider verifies it').makeOptionMandatory()],
  run: async (session, [orgId = '', personId = ''], { email }) => {
    const path = apiPath`/orgs/${orgId}/people/${personId}/identities`;
    const answer = await session.api.json({ method: 'POST', path, body: { email } });
    session.show(answer, (row) => `Invited.\n\n${rowFields(row)}`);
  },
};

export const identityCommands: readonly CommandSpec[] = [list, link, unlink, invite];

import type { Group } from './command-spec.ts';
import { auditCommands, gateAuditCommands } from './groups/audit.ts';
import { databaseCommands } from './groups/database.ts';
import { decisionCommands } from './groups/decisions.ts';
import { eventCommands } from './groups/events.ts';
import { frameworkCommands } from './groups/frameworks.ts';
import { gateKeyCommands } from './groups/gate-keys.ts';
import { keyCommands } from './groups/keys.ts';
import { ledgerCommands } from './groups/ledger.ts';
import { networkCommands } from './groups/networks.ts';
import { orgCommands } from './groups/orgs.ts';
import { peopleCommands } from './groups/people.ts';
import { policyCommands } from './groups/policies.ts';
import { secretCommands } from './groups/secrets.ts';
import { sourceCommands } from './groups/sources.ts';
import { subjectCommands } from './groups/subjects.ts';
import { venueCommands } from './groups/venues.ts';

/** All groups of the command line. A new one is a file in `groups/` and an entry here. */
export const GROUPS: readonly Group[] = [
  {
    name: 'networks',
    summary: 'Networks: channels and limits for their keys.',
    surfaces: ['ingest-gateway'],
    commands: networkCommands,
  },
  {
    name: 'keys',
    summary: 'Ingest keys of a network.',
    surfaces: ['ingest-gateway'],
    commands: keyCommands,
  },
  {
    name: 'sources',
    summary: 'Sources of a network: senders of signed webhooks.',
    surfaces: ['ingest-gateway'],
    commands: sourceCommands,
  },
  {
    name: 'events',
    summary: 'Outcomes of requests to the ingest gateway, without their content.',
    surfaces: ['ingest-gateway'],
    commands: eventCommands,
  },
  {
    name: 'ledger',
    summary: 'The ledger: read, prove, audit, erase, archive. A channel is written <networkId>.<name>.',
    // A deployed ledger peer is the integrator, so its proofs are up to date.
    surfaces: ['ledger-peer', 'ingest-gateway'],
    commands: ledgerCommands,
  },
  {
    name: 'gate-keys',
    summary: 'gk_ keys of the case gate, each of one environment.',
    surfaces: ['case-gate'],
    commands: gateKeyCommands,
  },
  {
    name: 'venues',
    summary: 'Venues of the gate.',
    surfaces: ['case-gate'],
    commands: venueCommands,
  },
  {
    name: 'policies',
    summary: 'Policy versions for the decisions of cases.',
    surfaces: ['case-gate'],
    commands: policyCommands,
  },
  {
    name: 'subjects',
    summary: 'Subjects: their eligibility, suspension and revocation.',
    surfaces: ['case-gate'],
    commands: subjectCommands,
  },
  {
    name: 'decisions',
    summary: 'Decisions of the gate.',
    surfaces: ['case-gate'],
    commands: decisionCommands,
  },
  {
    name: 'orgs',
    summary: 'Organisations with their risks, controls and evidence.',
    surfaces: ['risk-partner'],
    commands: orgCommands,
  },
  {
    name: 'people',
    summary: 'People and machines of an organisation: their roles, visible rows, keys (svc_) and sign-in identities.',
    surfaces: ['risk-partner'],
    within: { identities: 'Identities of a person at an identity provider.' },
    commands: peopleCommands,
  },
  {
    name: 'frameworks',
    summary: 'Frameworks of an organisation: requirements for controls.',
    surfaces: ['risk-partner'],
    commands: frameworkCommands,
  },
  {
    name: 'audit',
    summary: 'Changes and exports through the admin listener. Each surface has its own.',
    surfaces: ['ingest-gateway', 'ledger-peer', 'risk-partner'],
    commands: auditCommands,
  },
  {
    name: 'gate-audit',
    summary: 'The same for the case gate.',
    surfaces: ['case-gate'],
    commands: gateAuditCommands,
  },
  {
    name: 'secrets',
    summary:
      'Secrets of the deployment: generate them, and rotate them without failed requests. Each surface has its own.',
    surfaces: ['case-gate', 'ingest-gateway', 'ledger-peer', 'risk-partner'],
    commands: secretCommands,
  },
  {
    name: 'database',
    summary:
      'The PostgreSQL servers of DATABASE_URL: which is the primary, and which timeline counts. Needs no service.',
    surfaces: [],
    commands: databaseCommands,
  },
];

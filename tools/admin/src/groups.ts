import type { Group } from './command-spec.ts';
import { auditCommands, gateAuditCommands } from './groups/audit.ts';
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

/** Every group of the command line. A new one is a file in `groups/` and a row here. */
export const GROUPS: readonly Group[] = [
  {
    name: 'networks',
    summary: 'Networks: into which channels the keys of each may write, and how fast.',
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
    summary: 'Sources of a network: senders whose webhooks are taken as they sign them.',
    surfaces: ['ingest-gateway'],
    commands: sourceCommands,
  },
  {
    name: 'events',
    summary: 'What became of each request to the ingest gateway; never what was in it.',
    surfaces: ['ingest-gateway'],
    commands: eventCommands,
  },
  {
    name: 'ledger',
    summary: 'The ledger: read, prove, audit, erase, archive. A channel is written <networkId>.<name>.',
    // Where the ledger peer is deployed it is the one that signs checkpoints, so its proofs are never behind.
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
    summary: 'Venues that the gate stands at.',
    surfaces: ['case-gate'],
    commands: venueCommands,
  },
  {
    name: 'policies',
    summary: 'Policy versions that cases are decided under.',
    surfaces: ['case-gate'],
    commands: policyCommands,
  },
  {
    name: 'subjects',
    summary: 'Subjects: their eligibility, and how to end it.',
    surfaces: ['case-gate'],
    commands: subjectCommands,
  },
  {
    name: 'decisions',
    summary: 'What the gate answered.',
    surfaces: ['case-gate'],
    commands: decisionCommands,
  },
  {
    name: 'orgs',
    summary: 'Organisations whose risks, controls and evidence are kept.',
    surfaces: ['risk-partner'],
    commands: orgCommands,
  },
  {
    name: 'people',
    summary:
      'People and machines of an organisation: roles, the rows they see, their svc_ keys, and whom they sign in as.',
    surfaces: ['risk-partner'],
    within: { identities: 'Whom somebody signs in as at an identity provider.' },
    commands: peopleCommands,
  },
  {
    name: 'frameworks',
    summary: 'Frameworks of an organisation: requirements that controls are mapped to.',
    surfaces: ['risk-partner'],
    commands: frameworkCommands,
  },
  {
    name: 'audit',
    summary: 'Who changed or exported what by the admin listener. Each surface tells of its own.',
    surfaces: ['ingest-gateway', 'ledger-peer', 'risk-partner'],
    commands: auditCommands,
  },
  {
    name: 'gate-audit',
    summary: 'The same of the case gate.',
    surfaces: ['case-gate'],
    commands: gateAuditCommands,
  },
  {
    name: 'secrets',
    summary:
      'Secrets of the deployment: make them, and exchange them without a refusal. Each surface tells of its own.',
    surfaces: ['case-gate', 'ingest-gateway', 'ledger-peer', 'risk-partner'],
    commands: secretCommands,
  },
];

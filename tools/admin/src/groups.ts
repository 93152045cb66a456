import type { Group } from './command-spec.ts';
import { eventCommands } from './groups/events.ts';
import { keyCommands } from './groups/keys.ts';
import { ledgerCommands } from './groups/ledger.ts';
import { networkCommands } from './groups/networks.ts';

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
    name: 'events',
    summary: 'What became of each request to the ingest gateway; never what was in it.',
    surfaces: ['ingest-gateway'],
    commands: eventCommands,
  },
  {
    name: 'ledger',
    summary: 'The ledger: read, prove, audit, erase. A channel is written <networkId>.<name>.',
    // Where the ledger peer is deployed it is the one that signs checkpoints, so its proofs are never behind.
    surfaces: ['ledger-peer', 'ingest-gateway'],
    commands: ledgerCommands,
  },
];

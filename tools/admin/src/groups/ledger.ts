import { receiptLogProof } from '@sealgate/envelope';
import { Option } from 'commander';
import { segment } from '../admin-api.ts';
import type { CodeCommand } from '../command-spec.ts';
import type { JsonObject } from '../json-object.ts';
import type { GroupRows, Row } from '../row-command.ts';
import { type Format, rowFields } from '../row-table.ts';
import { withLineFeed } from '../session.ts';
import { archive, fetch } from './ledger-archive.ts';
import { audit } from './ledger-audit.ts';
import { exportLog } from './ledger-export.ts';
import { recover } from './ledger-recover.ts';

const documentText: Format = (value) => (value === null ? '-' : JSON.stringify(value, null, 2));
const recordText = (row: JsonObject): string => rowFields(row, { data: documentText, extra: documentText });

/** Prints a signed note, byte for byte, or as this member of an object. */
const printNote =
  (member: string): NonNullable<Row['run']> =>
  async (session, request) => {
    const note = await session.api.text(request);
    session.print(session.json ? `${JSON.stringify({ [member]: note })}\n` : note);
  };

const proof: CodeCommand<{ readonly format: 'json' | 'tlog-proof' }> = {
  summary: 'Print receipt and inclusion proof of a record, for `sealgate-verify receipt`',
  details:
    'It can be verified offline with the verifier key of the ledger: sealgate-verify receipt proof.json --key VKEY.',
  examples: [
    'sealgate ledger proof acme.main order-7 > proof.json',
    'sealgate ledger proof acme.main order-7 --format tlog-proof > order-7.tlog-proof',
  ],
  options: [
    new Option('--format <format>', 'tlog-proof: a C2SP tlog-proof file without a salt, for `sealgate-verify proof`')
      .choices(['json', 'tlog-proof'])
      .default('json'),
    new Option('--tlog-proof', 'the same as --format tlog-proof').implies({ format: 'tlog-proof' }),
  ],
  run: async (session, [channel = '', recordId = ''], { format }) => {
    const path = `/ledger/channels/${segment(channel)}/records/${segment(recordId)}/proof`;
    const { text } = await session.api.json({ method: 'GET', path });
    if (format === 'json') session.print(withLineFeed(text));
    else session.print(receiptLogProof(JSON.parse(text) as Parameters<typeof receiptLogProof>[0]));
  },
};

export const ledgerGroup: GroupRows = {
  name: 'ledger',
  summary: 'The ledger: read, prove, audit, erase, archive. A channel is written <networkId>.<name>.',
  // A deployed ledger peer is the integrator, so its proofs are up to date.
  surfaces: ['ledger-peer', 'ingest-gateway'],
  commands: {
    channels: {
      operation: 'listChannels',
      columns: 'CHANNEL channel, RECORDS size',
      none: 'There are no channels.',
    },
    'checkpoint <channel>': {
      operation: 'getCheckpoint',
      details: 'With --json it is {"checkpoint": "..."}.',
      examples: ['sealgate ledger checkpoint acme.main > checkpoint.txt'],
      run: printNote('checkpoint'),
    },
    'key <channel>': {
      operation: 'getLogKeys',
      details: 'With --json it is {"statement": "..."}.',
      examples: ['sealgate ledger key acme.main > key.txt'],
      run: printNote('statement'),
    },
    'record <channel> <recordId>': {
      operation: 'getRecord',
      examples: [
        'sealgate ledger record acme.main order-7',
        'sealgate ledger record acme.main order-7 --json > record.json',
      ],
      text: recordText,
    },
    'proof <channel> <recordId>': proof,
    'audit <channel>': audit,
    losses: {
      operation: 'listLosses',
      details: 'A lost channel accepts no records until its loss is declared: see sealgate ledger recover.',
      columns: 'CHANNEL channel, STATUS status, EPOCH epoch, FOUND foundAt, PROBLEM problem',
      none: 'No channel has lost records.',
    },
    witnesses: { operation: 'getWitnessPolicies' },
    'recover <channel>': recover,
    'erase <channel> <recordId>': {
      operation: 'eraseRecord',
      examples: ["sealgate ledger erase acme.main order-7 --reason 'Request 12 of the data subject' --yes"],
      confirm: 'Erase the content of <recordId> in <channel>? It cannot be restored.',
      done: 'The content is erased; the proofs of the record stay valid.',
      text: recordText,
    },
    'archive <channel>': archive,
    'fetch <channel> <wanted>': fetch,
    'export <url> <dir>': exportLog,
  },
};

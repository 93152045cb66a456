import { readFileSync } from 'node:fs';
import { defined } from '@sealgate/json';
import { Option } from 'commander';
import type { CodeCommand } from '../command-spec.ts';
import { errorCode, EXIT_CODES, UsageError } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import type { GroupRows } from '../row-command.ts';
import { importConnection } from './fabric-import.ts';
import { cellText, type Column, type Format, printable, rowFields, RowTable } from '../row-table.ts';
import { trust } from './fabric-trust.ts';

const COLUMNS: readonly Column[] = [
  { title: 'TYPES', member: 'types' },
  { title: 'CHANNEL', member: 'channel' },
  { title: 'CHAINCODE', member: 'chaincode' },
  { title: 'CALL', member: 'call' },
  { title: 'TRANSACTION', member: 'transaction' },
  { title: 'ANSWER', member: 'answer' },
  { title: 'DETAIL', member: 'detail', isWhole: true },
];

const check: CodeCommand<{ readonly identity?: string }> = {
  summary: 'Try a mapping file on the network, without writing: exit code 3 if a read or query is not as it says',
  details:
    'A running ledger peer evaluates each read and history with an id that no contract has, and each query with empty filters, by its own connection, signed as the identity that you name, else as that of a claim of your token, else as its default; nothing is endorsed, and its own mapping stays. `absent` and `answered` are well. `refused`: the contract has other words for a missing asset than `words`, or wants other arguments. `unreadable`: it returns something else than the mapping says. `unavailable`: the network does not take the call.',
  examples: ['sealgate fabric check mapping.json', 'sealgate fabric check mapping.json --identity approver --json'],
  options: [new Option('--identity <name>', 'who signs: an identity of the connection file of the ledger peer')],
  run: async (session, [file = ''], { identity }) => {
    const body = { mapping: read(file), ...defined({ identity }) };
    const answer = await session.api.json({ method: 'POST', path: '/mapping/check', body });
    session.show(answer, reportText);
    // Only an explicit true counts.
    return answer.value['ok'] === true ? EXIT_CODES.done : EXIT_CODES.auditFailed;
  },
};

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${errorCode(error) ?? String(error)}.`, { cause: error });
  }
}

function reportText({ faults, calls }: JsonObject): string {
  const said = (Array.isArray(faults) ? faults : []).map((fault) => `${printable(String(fault))}\n`).join('');
  const rows = (Array.isArray(calls) ? calls : []).filter(isObject);
  return said + (rows.length === 0 ? '' : new RowTable(COLUMNS).lines(rows));
}

const ENTRY_COLUMNS: readonly Column[] = [
  { title: 'PLACE', member: 'place' },
  { title: 'CODE', member: 'code' },
  { title: 'CHAINCODE', member: 'chaincode' },
  { title: 'FUNCTION', member: 'function' },
  { title: 'CREATOR', member: 'creator.mspId' },
  { title: 'ENDORSERS', member: 'endorsers' },
  { title: 'TRANSACTION', member: 'transactionId', isWhole: true },
];

function blockText({ channel = null, block = null, dataHash = null, entries = null }: JsonObject): string {
  const rows = (Array.isArray(entries) ? entries : []).filter(isObject);
  const head = rowFields({ channel, ...(isObject(block) ? block : {}), dataHash });
  return head + (rows.length === 0 ? '' : `\n${new RowTable(ENTRY_COLUMNS).lines(rows)}`);
}

const creatorText: Format = (value) =>
  isObject(value) ? `${cellText(value['mspId'])} ${cellText(value['subject'])}` : cellText(value);

/** A key in each line; one that is removed says so. */
const writesText: Format = (value) =>
  (Array.isArray(value) ? value : [])
    .filter(isObject)
    .map(
      ({ chaincode, key, isDelete }) => `${cellText(chaincode)} ${cellText(key)}${isDelete === true ? ' removed' : ''}`,
    )
    .join('\n');

export const fabricGroup: GroupRows = {
  name: 'fabric',
  summary: 'Contracts of a Fabric network, as the ledger peer reaches them.',
  surfaces: ['ledger-peer'],
  commands: {
    'check <mapping>': check,
    'import <source>': importConnection,
    'trust <channel>': trust,
    channels: {
      operation: 'listFabricChannels',
      columns: 'CHANNEL channel, FABRIC fabricChannel, NEWEST newestBlock, FIRST firstBlock, CHAINCODES chaincodes',
      none: 'No channel is mapped to Fabric.',
    },
    'blocks <channel>': {
      operation: 'listFabricBlocks',
      columns: 'BLOCK number, TIME at, TRANSACTIONS transactions, VALID valid, BYTES bytes',
      none: 'There are no blocks.',
    },
    'block <channel> <number>': {
      operation: 'getFabricBlock',
      examples: ['sealgate fabric block acme.main 7', 'sealgate fabric block acme.main 7 --json'],
      text: blockText,
    },
    'transaction <transactionId>': {
      operation: 'getFabricTransaction',
      examples: [`sealgate fabric transaction ${'0af3'.repeat(16)}`],
      text: (row) => rowFields(row, { creator: creatorText, writes: writesText }),
    },
  },
};

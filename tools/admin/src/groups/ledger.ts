import { receiptLogProof } from '@sealgate/envelope';
import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import { type CommandSpec, yesOption } from '../command-spec.ts';
import { EXIT_CODES } from '../errors.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, type Format, rowFields } from '../row-table.ts';
import { withLineFeed } from '../session.ts';
import { archive, fetch } from './ledger-archive.ts';
import { exportLog } from './ledger-export.ts';
import { recover } from './ledger-recover.ts';

const COLUMNS: readonly Column[] = [
  { title: 'CHANNEL', member: 'channel' },
  { title: 'RECORDS', member: 'size' },
];

const documentText: Format = (value) => (value === null ? '-' : JSON.stringify(value, null, 2));
const recordText = (row: JsonObject): string => rowFields(row, { data: documentText, extra: documentText });

const channels: CommandSpec<PageOptions> = {
  usage: 'channels',
  summary: 'List the channels with their number of records',
  examples: ['sealgate ledger channels'],
  options: pageOptions(),
  run: (session, _args, options) =>
    printList(session, { path: apiPath`/ledger/channels`, columns: COLUMNS, none: 'There are no channels.' }, options),
};

const checkpoint: CommandSpec = {
  usage: 'checkpoint <channel>',
  summary: 'Print the newest signed checkpoint (C2SP tlog-checkpoint)',
  details:
    'Save it elsewhere: only a saved checkpoint reveals a ledger restored to an older state. With --json it is {"checkpoint": "..."}.',
  examples: ['sealgate ledger checkpoint acme.main > checkpoint.txt'],
  run: async (session, [channel = '']) => {
    const note = await session.api.text({ method: 'GET', path: apiPath`/ledger/channels/${channel}/checkpoint` });
    session.print(session.json ? `${JSON.stringify({ checkpoint: note })}\n` : note);
  },
};

const key: CommandSpec = {
  usage: 'key <channel>',
  summary: "Print the root key's signed statement of the checkpoint keys of a channel",
  details:
    'With the root key pinned, it makes these keys trusted: sealgate-verify checkpoint FILE --key ROOT --statement key.txt. A policy (C2SP tlog-policy) lists them in its log lines. With --json it is {"statement": "..."}.',
  examples: ['sealgate ledger key acme.main > key.txt'],
  run: async (session, [channel = '']) => {
    const note = await session.api.text({ method: 'GET', path: apiPath`/ledger/channels/${channel}/key` });
    session.print(session.json ? `${JSON.stringify({ statement: note })}\n` : note);
  },
};

const record: CommandSpec = {
  usage: 'record <channel> <recordId>',
  summary: 'Read a record',
  examples: [
    'sealgate ledger record acme.main order-7',
    'sealgate ledger record acme.main order-7 --json > record.json',
  ],
  run: async (session, [channel = '', recordId = '']) => {
    const path = apiPath`/ledger/channels/${channel}/records/${recordId}`;
    session.show(await session.api.json({ method: 'GET', path }), recordText);
  },
};

const proof: CommandSpec<{ readonly format: 'json' | 'tlog-proof' }> = {
  usage: 'proof <channel> <recordId>',
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
    const path = apiPath`/ledger/channels/${channel}/records/${recordId}/proof`;
    const { text } = await session.api.json({ method: 'GET', path });
    if (format === 'json') session.print(withLineFeed(text));
    else session.print(receiptLogProof(JSON.parse(text) as Parameters<typeof receiptLogProof>[0]));
  },
};

interface AuditOptions {
  readonly id?: string;
  readonly detach?: true;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

const audit: CommandSpec<AuditOptions> = {
  usage: 'audit <channel>',
  summary: 'Audit a whole channel, and report the first record that differs from what was written, with exit code 3',
  details:
    'The audit runs in the service, which reports its progress. After Ctrl-C, run the command again to join the running audit, or with --id to query one that may have finished. Its result is lost when the process that runs it exits.',
  examples: [
    'sealgate ledger audit acme.main',
    'sealgate ledger audit acme.main --detach',
    'sealgate ledger audit acme.main --id aud_0190',
  ],
  options: [
    new Option('--id <auditId>', 'wait for an earlier audit'),
    new Option('--detach', 'start it, print its id and exit'),
  ],
  run: async (session, [channel = ''], { id, detach }) => {
    const path = apiPath`/ledger/channels/${channel}/audits`;
    const find = (auditId: string) => session.api.json({ method: 'GET', path: `${path}${apiPath`/${auditId}`}` });
    let answer = id === undefined ? await session.api.json({ method: 'POST', path, body: {} }) : await find(id);
    const auditId = String(answer.value['auditId']);
    if (detach === true) {
      session.show(answer, rowFields);
      return EXIT_CODES.done;
    }
    if (!session.json && answer.value['status'] === 'running') {
      session.note(
        `Audit ${auditId}. Ctrl-C leaves it running; to wait for it again: sealgate ledger audit ${channel} --id ${auditId}\n`,
      );
    }
    for (
      let pauseMs = FIRST_PAUSE_MS;
      answer.value['status'] === 'running';
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    ) {
      if (!session.json) session.note(`${progressText(answer.value)}\n`);
      await session.pause(pauseMs);
      answer = await find(auditId);
    }
    const { report, failure } = answer.value;
    if (!isObject(report)) {
      // A service of an older version tells no reason.
      const reason = typeof failure === 'string' ? failure : 'The ledger cannot be reached, or refuses it.';
      session.note(`sealgate: audit ${auditId} could not be completed: ${reason}\n`);
      return EXIT_CODES.refused;
    }
    session.show({ text: JSON.stringify(report), value: report }, auditText);
    // Only an explicit true counts.
    return report['ok'] === true ? EXIT_CODES.done : EXIT_CODES.auditFailed;
  },
};

function progressText({ walked, size }: JsonObject): string {
  const share = Number(size) === 0 ? 100 : Math.floor((100 * Number(walked)) / Number(size));
  return `${String(walked)} of ${String(size)} records (${share} %)`;
}

const erase: CommandSpec<{ readonly reason: string }> = {
  usage: 'erase <channel> <recordId>',
  summary: 'Permanently remove salt and content of a record; its proofs stay valid',
  details:
    'The log then proves that something was written and when, but no longer what. The reason is stored in the audit log.',
  examples: ["sealgate ledger erase acme.main order-7 --reason 'Request 12 of the data subject' --yes"],
  options: [new Option('--reason <text>', 'the reason, without personal data').makeOptionMandatory(), yesOption()],
  run: async (session, [channel = '', recordId = ''], { reason }) => {
    const path = apiPath`/ledger/channels/${channel}/records/${recordId}/erase`;
    await session.confirm(`Erase the content of ${recordId} in ${channel}? It cannot be restored.`);
    const answer = await session.api.json({ method: 'POST', path, body: { reason } });
    session.show(answer, (row) => `The content is erased; the proofs of the record stay valid.\n\n${recordText(row)}`);
  },
};

function auditText(report: JsonObject): string {
  const verdict = report['ok'] === true ? 'All records are intact.' : 'NOT ALL RECORDS ARE INTACT.';
  return `${verdict}\n\n${rowFields(report)}`;
}

export const ledgerCommands: readonly CommandSpec[] = [
  channels,
  checkpoint,
  key,
  record,
  proof,
  audit,
  recover,
  erase,
  archive,
  fetch,
  exportLog,
];

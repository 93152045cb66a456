import { receiptLogProof } from '@sealgate/envelope';
import { Option } from 'commander';
import { apiPath } from '../api-path.ts';
import type { Format } from '../cell-text.ts';
import { yesOption, type CommandSpec } from '../command-spec.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { isObject, type JsonObject } from '../json-object.ts';
import { pageOptions, printList, type PageOptions } from '../print-list.ts';
import { rowFields } from '../row-fields.ts';
import type { Column } from '../row-table.ts';
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
  summary: 'List the channels and how many records each holds',
  examples: ['sealgate ledger channels'],
  options: pageOptions(),
  run: (session, _args, options) =>
    printList(session, { path: apiPath`/ledger/channels`, columns: COLUMNS, none: 'There are no channels.' }, options),
};

const checkpoint: CommandSpec = {
  usage: 'checkpoint <channel>',
  summary: 'Print the newest signed checkpoint (C2SP tlog-checkpoint)',
  details:
    'Keep it outside: a ledger put back to an older state is seen against it alone. With --json it is {"checkpoint": "..."}.',
  examples: ['sealgate ledger checkpoint acme.main > checkpoint.txt'],
  run: async (session, [channel = '']) => {
    const note = await session.api.text({ method: 'GET', path: apiPath`/ledger/channels/${channel}/checkpoint` });
    session.print(session.json ? `${JSON.stringify({ checkpoint: note })}\n` : note);
  },
};

const key: CommandSpec = {
  usage: 'key <channel>',
  summary: 'Print which keys sign the checkpoints of a channel: a statement that the root key signed',
  details:
    'Whoever pins the root key trusts these keys by it: sealgate-verify checkpoint FILE --key ROOT --statement key.txt. A policy (C2SP tlog-policy) names them in its log lines. With --json it is {"statement": "..."}.',
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
  summary: 'Print receipt and inclusion proof of a record, as `sealgate-verify receipt` takes them',
  details:
    'Whoever has the verifier key of the ledger checks it without us: sealgate-verify receipt proof.json --key VKEY.',
  examples: [
    'sealgate ledger proof acme.main order-7 > proof.json',
    'sealgate ledger proof acme.main order-7 --format tlog-proof > order-7.tlog-proof',
  ],
  options: [
    new Option(
      '--format <format>',
      'tlog-proof: a C2SP tlog-proof file, which holds no salt, for `sealgate-verify proof`',
    )
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
  summary: 'Walk a whole channel and name the first record that is not what was written; exit code 3 if there is one',
  details:
    'The audit goes on in the service, which tells how far it came. Leave with Ctrl-C and give the command again: it joins the audit that is under way, and with --id it asks for one that may have ended. The process that runs it forgets it when it ends itself.',
  examples: [
    'sealgate ledger audit acme.main',
    'sealgate ledger audit acme.main --detach',
    'sealgate ledger audit acme.main --id aud_0190',
  ],
  options: [
    new Option('--id <auditId>', 'follow one that was begun before'),
    new Option('--detach', 'begin it, print it and leave'),
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
        `Audit ${auditId}. To leave it: Ctrl-C; to follow it again: sealgate ledger audit ${channel} --id ${auditId}\n`,
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
    const { report } = answer.value;
    if (!isObject(report)) {
      session.note(`sealgate: audit ${auditId} could not be brought to its end: the ledger cannot be asked.\n`);
      return EXIT_CODES.refused;
    }
    session.show({ text: JSON.stringify(report), value: report }, auditText);
    // Only a plain yes is one.
    return report['ok'] === true ? EXIT_CODES.done : EXIT_CODES.auditFailed;
  },
};

function progressText({ walked, size }: JsonObject): string {
  const share = Number(size) === 0 ? 100 : Math.floor((100 * Number(walked)) / Number(size));
  return `${String(walked)} of ${String(size)} records (${share} %)`;
}

const erase: CommandSpec<{ readonly reason: string }> = {
  usage: 'erase <channel> <recordId>',
  summary: 'Remove salt and content of a record for ever; its proofs stay valid',
  details:
    'The log then proves that something was written and when, and no longer what. The reason goes into the audit trail.',
  examples: ["sealgate ledger erase acme.main order-7 --reason 'Request 12 of the data subject' --yes"],
  options: [new Option('--reason <text>', 'why, without personal data').makeOptionMandatory(), yesOption()],
  run: async (session, [channel = '', recordId = ''], { reason }) => {
    const path = apiPath`/ledger/channels/${channel}/records/${recordId}/erase`;
    await session.confirm(`Erase the content of ${recordId} in ${channel}? Nobody can bring it back.`);
    const answer = await session.api.json({ method: 'POST', path, body: { reason } });
    session.show(answer, (row) => `The content is erased; the proofs of the record stay valid.\n\n${recordText(row)}`);
  },
};

function auditText(report: JsonObject): string {
  const verdict = report['ok'] === true ? 'Every record is what was written.' : 'NOT EVERY RECORD IS WHAT WAS WRITTEN.';
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

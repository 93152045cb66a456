import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import { type CommandSpec, environmentOption, type EnvironmentOptions } from '../command-spec.ts';
import { pageOptions, type PageOptions, printLines, printList } from '../print-list.ts';
import { type Column, rowFields } from '../row-table.ts';

const COLUMNS: readonly Column[] = [
  { title: 'DECISION', member: 'decision_id' },
  { title: 'AT', member: 'evaluated_at' },
  { title: 'SUBJECT', member: 'subject_ref' },
  { title: 'VENUE', member: 'venue_id' },
  { title: 'ANSWER', member: 'decision' },
  { title: 'REASON', member: 'reason_codes' },
];

interface ListOptions extends PageOptions, EnvironmentOptions {
  readonly subject?: string;
  readonly venue?: string;
  readonly decision?: string;
  readonly from?: string;
  readonly to?: string;
}

const list: CommandSpec<ListOptions> = {
  usage: 'list',
  summary: 'List decisions of the gate, newest first',
  examples: [
    'sealgate decisions list --subject subj_ada --limit 10',
    'sealgate decisions list --venue harbour-hall --decision deny --from 2030-01-01T00:00:00Z --all',
  ],
  options: [
    new Option('--subject <subjectRef>', 'only about this subject'),
    new Option('--venue <venueId>', 'only at this venue'),
    new Option('--decision <answer>', 'only these').choices(['allow', 'deny']),
    new Option('--from <time>', 'from this time, RFC 3339'),
    new Option('--to <time>', 'before this, RFC 3339'),
    environmentOption(),
    ...pageOptions(),
  ],
  run: (session, _args, options) => {
    const { environment, subject, venue, decision, from, to } = options;
    const query = { environment, subject_ref: subject, venue_id: venue, decision, from, to };
    const none = 'There are no matching decisions.';
    return printList(session, { path: apiPath`/decisions`, query, columns: COLUMNS, none }, options);
  },
};

const get: CommandSpec = {
  usage: 'get <decisionId>',
  summary: 'Read a decision of the gate',
  examples: ['sealgate decisions get gd_01'],
  run: async (session, [decisionId = '']) => {
    session.show(await session.api.json({ method: 'GET', path: apiPath`/decisions/${decisionId}` }), rowFields);
  },
};

const VERIFYING =
  'As NDJSON, for `sealgate-verify decisions`. Save the heads first: decisions made in the meantime are then after the last head, and all decisions covered by a head are included.';

const processOption = (): Option => new Option('--process <process>', 'only of this process');

const heads: CommandSpec<{ readonly process?: string }> = {
  usage: 'heads',
  summary: 'Print the heads of the decision chains in the ledger with their proofs, one per line',
  details: VERIFYING,
  examples: ['sealgate decisions heads'],
  options: [processOption()],
  run: (session, _args, { process }) => printLines(session, { path: apiPath`/decision-heads`, query: { process } }),
};

const log: CommandSpec<{ readonly process?: string }> = {
  usage: 'log',
  summary: 'Print the decision log of all environments, by process and number, one per line',
  details: VERIFYING,
  examples: ['sealgate decisions log'],
  options: [processOption()],
  run: (session, _args, { process }) => printLines(session, { path: apiPath`/decision-log`, query: { process } }),
};

export const decisionCommands: readonly CommandSpec[] = [list, get, heads, log];

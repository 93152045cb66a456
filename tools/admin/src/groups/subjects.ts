import { Option } from 'commander';
import { apiPath } from '../api-path.ts';
import { yesOption, type CommandSpec } from '../command-spec.ts';
import { environmentOption, type EnvironmentOptions } from '../environment-option.ts';
import { given } from '../given.ts';
import { pageOptions, printList, type PageOptions } from '../print-list.ts';
import { rowFields } from '../row-fields.ts';
import type { Column } from '../row-table.ts';
import type { Session } from '../session.ts';

type ReasonOptions = EnvironmentOptions & { readonly reason: string };

const reasonOption = (): Option =>
  new Option('--reason <text>', 'why; it stays in the record and the audit').makeOptionMandatory();

const get: CommandSpec<EnvironmentOptions> = {
  usage: 'get <subjectRef>',
  summary: 'Read the eligibility record of a subject',
  examples: ['sealgate subjects get subj_ada'],
  options: [environmentOption()],
  run: async (session, [subjectRef = ''], { environment }) => {
    const path = apiPath`/subjects/${subjectRef}`;
    session.show(await session.api.json({ method: 'GET', path, query: { environment } }), rowFields);
  },
};

const COLUMNS: readonly Column[] = [
  { title: 'VERSION', member: 'record_version' },
  { title: 'AT', member: 'changed_at' },
  { title: 'EVENT', member: 'event' },
  { title: 'BY', member: 'actor' },
];

const history: CommandSpec<PageOptions & EnvironmentOptions> = {
  usage: 'history <subjectRef>',
  summary: 'List every version of the record of a subject, newest first',
  examples: ['sealgate subjects history subj_ada', 'sealgate subjects history subj_ada --all --json'],
  options: [environmentOption(), ...pageOptions()],
  run: (session, [subjectRef = ''], options) => {
    const { environment } = options;
    const path = apiPath`/subjects/${subjectRef}/history`;
    const none = 'The subject has no record.';
    return printList(session, { path, query: { environment }, columns: COLUMNS, none }, options);
  },
};

async function act(session: Session, [path, done]: readonly [string, string], options: ReasonOptions): Promise<void> {
  const { reason, environment } = options;
  const answer = await session.api.json({ method: 'POST', path, body: { reason, ...given({ environment }) } });
  session.show(answer, (row) => `${done}\n\n${rowFields(row)}`);
}

const suspend: CommandSpec<ReasonOptions> = {
  usage: 'suspend <subjectRef>',
  summary: 'Deny a subject at every venue until it is reinstated',
  examples: ["sealgate subjects suspend subj_ada --reason 'Review 7'"],
  options: [reasonOption(), environmentOption()],
  run: (session, [subjectRef = ''], options) =>
    act(session, [apiPath`/subjects/${subjectRef}/suspend`, 'The subject is suspended.'], options),
};

const reinstate: CommandSpec<ReasonOptions> = {
  usage: 'reinstate <subjectRef>',
  summary: 'End the suspension of a subject',
  examples: ["sealgate subjects reinstate subj_ada --reason 'Review 7 is over'"],
  options: [reasonOption(), environmentOption()],
  run: (session, [subjectRef = ''], options) =>
    act(session, [apiPath`/subjects/${subjectRef}/reinstate`, 'The subject is not suspended any more.'], options),
};

const revoke: CommandSpec<ReasonOptions> = {
  usage: 'revoke <subjectRef>',
  summary: 'Deny a subject at every venue of an environment, for ever',
  details: 'No check that begins after the answer allows, on any replica. There is no way back.',
  examples: ["sealgate subjects revoke subj_ada --reason 'Forged papers'"],
  options: [reasonOption(), environmentOption(), yesOption()],
  run: async (session, [subjectRef = ''], options) => {
    await session.confirm(`Revoke ${subjectRef} for ever?`);
    await act(session, [apiPath`/subjects/${subjectRef}/revoke`, 'The subject is revoked.'], options);
  },
};

export const subjectCommands: readonly CommandSpec[] = [get, history, suspend, reinstate, revoke];

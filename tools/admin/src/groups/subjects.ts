import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import {
  type CommandSpec,
  environmentOption,
  type EnvironmentOptions,
  integerOption,
  yesOption,
} from '../command-spec.ts';
import { given } from '../json-object.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, rowFields } from '../row-table.ts';
import type { Session } from '../session.ts';

type ReasonOptions = EnvironmentOptions & { readonly reason: string };

const reasonOption = (): Option =>
  new Option('--reason <text>', 'the reason, stored in the record and the audit log').makeOptionMandatory();

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
    act(session, [apiPath`/subjects/${subjectRef}/reinstate`, 'The subject is no longer suspended.'], options),
};

const revoke: CommandSpec<ReasonOptions> = {
  usage: 'revoke <subjectRef>',
  summary: 'Permanently deny a subject at every venue of an environment',
  details: 'No check that starts after the response allows the subject, on any replica. It cannot be undone.',
  examples: ["sealgate subjects revoke subj_ada --reason 'Forged papers'"],
  options: [reasonOption(), environmentOption(), yesOption()],
  run: async (session, [subjectRef = ''], options) => {
    await session.confirm(`Revoke ${subjectRef} for ever?`);
    await act(session, [apiPath`/subjects/${subjectRef}/revoke`, 'The subject is revoked.'], options);
  },
};

const UNCONFIRMED_COLUMNS: readonly Column[] = [
  { title: 'SUBJECT', member: 'subject_ref' },
  { title: 'VERSION', member: 'record_version' },
  { title: 'STATUS', member: 'status' },
  { title: 'CHANGED', member: 'changed_at' },
  { title: 'CAUSE', member: 'cause' },
];

const unconfirmed: CommandSpec<PageOptions & EnvironmentOptions> = {
  usage: 'unconfirmed',
  summary: 'List the subjects that are denied until they are confirmed, after a declared loss of ledger records',
  examples: ['sealgate subjects unconfirmed', 'sealgate subjects unconfirmed --all --json'],
  options: [environmentOption(), ...pageOptions()],
  run: (session, _, options) => {
    const { environment } = options;
    const none = 'No subject needs a confirmation.';
    const list = { path: '/unconfirmed-subjects', query: { environment }, columns: UNCONFIRMED_COLUMNS, none };
    return printList(session, list, options);
  },
};

const confirm: CommandSpec<ReasonOptions & { readonly recordVersion: number }> = {
  usage: 'confirm <subjectRef>',
  summary: 'Confirm the record of a subject after a declared loss of ledger records',
  details:
    'The record becomes valid again, so check it first (get, history): it does not contain a lost revocation or suspension. In that case, revoke or suspend instead.',
  examples: ["sealgate subjects confirm subj_ada --record-version 4 --reason 'Compared with the case file'"],
  options: [
    integerOption('--record-version <n>', 'the version that you have checked').makeOptionMandatory(),
    reasonOption(),
    environmentOption(),
    yesOption(),
  ],
  run: async (session, [subjectRef = ''], { recordVersion, reason, environment }) => {
    await session.confirm(`Let version ${recordVersion} of ${subjectRef} count again?`);
    const body = { record_version: recordVersion, reason, ...given({ environment }) };
    const path = apiPath`/subjects/${subjectRef}/confirm`;
    const answer = await session.api.json({ method: 'POST', path, body });
    session.show(answer, (row) => `The subject is confirmed.\n\n${rowFields(row)}`);
  },
};

export const subjectCommands: readonly CommandSpec[] = [
  ...[get, history, suspend, reinstate, revoke],
  ...[unconfirmed, confirm],
];

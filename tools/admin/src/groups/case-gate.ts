import { ENVIRONMENT, EXPIRY, LABEL, mintedText, neverText, PERIOD, REASON, successorOf } from '../common-rows.ts';
import type { JsonObject } from '../json-object.ts';
import { printLines } from '../print-list.ts';
import type { GroupRows, Row } from '../row-command.ts';
import { type Format, rowFields } from '../row-table.ts';

const surfaces = ['case-gate'];

const keyText = (row: JsonObject): string => rowFields(row, { expiresAt: neverText, lastUsedAt: neverText });

const gateKeys: GroupRows = {
  name: 'gate-keys',
  summary: 'gk_ keys of the case gate, each of one environment.',
  surfaces,
  text: keyText,
  commands: {
    mint: {
      operation: 'mintKey',
      summary: 'Create a gk_ key of an environment; the raw key is shown only once',
      details:
        'Scopes: case:write, case:decide, case:override, case:seal, case:read, case:export, eligibility:read, gate:check.\n' +
        'To rotate a key, create its successor with --replaces, and set --overlap-seconds to the time callers need to switch.',
      examples: [
        "sealgate gate-keys mint --environment live --label 'north door' --scope gate:check",
        'sealgate gate-keys mint --environment test --label desk --scope case:write --scope case:read --replaces key_01',
      ],
      options: {
        ...LABEL,
        '--environment <name>': 'its environment',
        '--scope <name>': 'a scope; repeatable',
        ...EXPIRY,
        ...successorOf('environment'),
      },
      body: { scopes: [] },
      text: (row) => mintedText(row, keyText),
    },
    list: {
      operation: 'listKeys',
      summary: 'List live keys of an environment and those that expired in the last 30 days, newest first',
      examples: ['sealgate gate-keys list', 'sealgate gate-keys list --environment test --all'],
      columns:
        'KEY id, ENVIRONMENT environment, LABEL label, BEGINS WITH keyPrefix, SCOPES scopes, LAST USED lastUsedAt, ' +
        'EXPIRES expiresAt, REVOKED revokedAt, ENDS endsAt',
      none: 'The environment has no keys.',
    },
    'get <keyId>': { operation: 'getKey', summary: 'Read a key, without the raw key', options: {} },
    'revoke <keyId>': {
      operation: 'revokeKey',
      summary: 'Revoke a key immediately and permanently; its predecessor and successor stay valid',
      options: {},
      done: 'The key <keyId> is revoked: it is rejected from the next request on.',
    },
  },
};

const venues: GroupRows = {
  name: 'venues',
  summary: 'Venues of the gate.',
  surfaces,
  commands: {
    list: {
      operation: 'listVenues',
      examples: ['sealgate venues list', 'sealgate venues list --environment test --json'],
      columns: 'VENUE venue_id, ENVIRONMENT environment, NAME name, ACTIVE active, UPDATED updated_at',
      none: 'There are no venues.',
    },
    'get <venueId>': { operation: 'getVenue' },
    'create <venueId>': {
      operation: 'createVenue',
      examples: ["sealgate venues create harbour-hall --name 'Harbour Hall'"],
      options: {
        '--name <text>': 'a display name',
        '--inactive': { words: 'deny everyone at first', sets: 'active', to: false },
        ...ENVIRONMENT,
      },
      done: 'The venue was created.',
    },
    'change <venueId>': {
      operation: 'changeVenue',
      summary: 'Rename, open or close a venue, with immediate effect',
      examples: [
        'sealgate venues change harbour-hall --inactive',
        "sealgate venues change harbour-hall --name 'Old Hall'",
      ],
      options: {
        '--name <text>': 'a display name',
        '--active': { words: 'allow eligible subjects', to: true, conflicts: ['inactive'] },
        '--inactive': { words: 'deny everyone', sets: 'active', to: false },
        ...ENVIRONMENT,
      },
      unchanged: 'Nothing to change: use --name, --active or --inactive.',
      done: 'The venue was changed.',
    },
  },
};

const rulesText: Format = (value) => (value === null ? 'none' : JSON.stringify(value, null, 2));
const policyText = (row: JsonObject): string => rowFields(row, { rules: rulesText });

const policies: GroupRows = {
  name: 'policies',
  summary: 'Policy versions for the decisions of cases.',
  surfaces,
  text: policyText,
  commands: {
    list: {
      operation: 'listPolicies',
      examples: ['sealgate policies list', 'sealgate policies list --environment test --all'],
      columns: 'VERSION policy_version, ENVIRONMENT environment, STATUS status, CREATED created_at, UPDATED updated_at',
      none: 'There are no policy versions.',
    },
    'get <policyVersion>': {
      operation: 'getPolicy',
      summary: 'Read a policy version with its rules',
    },
    'create <policyVersion>': {
      operation: 'createPolicy',
      summary: 'Create a policy version, as a draft or active',
      details: 'Without --rules each decision must state its outcome. Rules are immutable once it is active.',
      examples: ['sealgate policies create 2030-01', 'sealgate policies create 2030-01 --active --environment test'],
      options: {
        '--rules <file>': 'its rules as JSON: {"rules": [{when, decision, reason_codes}], "default": {...}}',
        '--active': { words: 'make it active at once', sets: 'status', to: 'active' },
        ...ENVIRONMENT,
      },
      done: 'The policy version was created.',
    },
    'activate <policyVersion>': {
      operation: 'changePolicy',
      summary: 'Activate a draft for decisions; its rules become immutable',
      options: ENVIRONMENT,
      body: { status: 'active' },
      done: 'The policy version is active.',
    },
    'retire <policyVersion>': {
      operation: 'changePolicy',
      summary: 'Retire a version permanently; earlier decisions stay',
      examples: ['sealgate policies retire 2029-12', 'sealgate policies retire 2029-12 --yes'],
      options: ENVIRONMENT,
      body: { status: 'retired' },
      confirm: 'Retire the policy version <policyVersion>? It can never be used for decisions again.',
      done: 'The policy version is retired.',
    },
  },
};

const subjects: GroupRows = {
  name: 'subjects',
  summary: 'Subjects: their eligibility, suspension and revocation.',
  surfaces,
  commands: {
    'get <subjectRef>': { operation: 'getSubject', summary: 'Read the eligibility record of a subject' },
    'history <subjectRef>': {
      operation: 'listSubjectHistory',
      summary: 'List every version of the record of a subject, newest first',
      examples: ['sealgate subjects history subj_ada', 'sealgate subjects history subj_ada --all --json'],
      columns: 'VERSION record_version, AT changed_at, EVENT event, BY actor',
      none: 'The subject has no record.',
    },
    'suspend <subjectRef>': {
      operation: 'suspendSubject',
      summary: 'Deny a subject at every venue until it is reinstated',
      examples: ["sealgate subjects suspend subj_ada --reason 'Review 7'"],
      done: 'The subject is suspended.',
    },
    'reinstate <subjectRef>': {
      operation: 'reinstateSubject',
      summary: 'End the suspension of a subject',
      examples: ["sealgate subjects reinstate subj_ada --reason 'Review 7 is over'"],
      done: 'The subject is no longer suspended.',
    },
    'revoke <subjectRef>': {
      operation: 'revokeSubject',
      summary: 'Permanently deny a subject at every venue of an environment',
      details: 'No check that starts after the response allows the subject, on any replica. It cannot be undone.',
      examples: ["sealgate subjects revoke subj_ada --reason 'Forged papers'"],
      confirm: 'Revoke <subjectRef> for ever?',
      done: 'The subject is revoked.',
    },
    unconfirmed: {
      operation: 'listUnconfirmedSubjects',
      summary: 'List the subjects that are denied until they are confirmed, after a declared loss of ledger records',
      examples: ['sealgate subjects unconfirmed', 'sealgate subjects unconfirmed --all --json'],
      columns: 'SUBJECT subject_ref, VERSION record_version, STATUS status, CHANGED changed_at, CAUSE cause',
      none: 'No subject needs a confirmation.',
    },
    'confirm <subjectRef>': {
      operation: 'confirmSubject',
      details:
        'The record becomes valid again, so check it first (get, history): it does not contain a lost revocation or suspension. In that case, revoke or suspend instead.',
      examples: ["sealgate subjects confirm subj_ada --record-version 4 --reason 'Compared with the case file'"],
      options: { '--record-version <n>': 'the version that you have checked', ...REASON, ...ENVIRONMENT },
      confirm: 'Let version <recordVersion> of <subjectRef> count again?',
      done: 'The subject is confirmed.',
    },
  },
};

const CHAIN: Pick<Row, 'details' | 'options' | 'run'> = {
  details:
    'As NDJSON, for `sealgate-verify decisions`. Save the heads first: decisions made in the meantime are then after the last head, and all decisions covered by a head are included.',
  options: { '--process <process>': 'only of this process' },
  run: printLines,
};

const decisions: GroupRows = {
  name: 'decisions',
  summary: 'Decisions of the gate.',
  surfaces,
  commands: {
    list: {
      operation: 'listDecisions',
      summary: 'List decisions of the gate, newest first',
      examples: [
        'sealgate decisions list --subject subj_ada --limit 10',
        'sealgate decisions list --venue harbour-hall --decision deny --from 2030-01-01T00:00:00Z --all',
      ],
      options: {
        '--subject <subjectRef>': { words: 'only about this subject', sets: 'subjectRef' },
        '--venue <venueId>': { words: 'only at this venue', sets: 'venueId' },
        '--decision <answer>': { words: 'only these', choices: true },
        ...PERIOD,
        ...ENVIRONMENT,
      },
      columns:
        'DECISION decision_id, AT evaluated_at, SUBJECT subject_ref, VENUE venue_id, ANSWER decision, REASON reason_codes',
      none: 'There are no matching decisions.',
    },
    'get <decisionId>': { operation: 'getDecision', summary: 'Read a decision of the gate' },
    heads: {
      operation: 'listDecisionHeads',
      summary: 'Print the heads of the decision chains in the ledger with their proofs, one per line',
      ...CHAIN,
    },
    log: {
      operation: 'listDecisionLog',
      summary: 'Print the decision log of all environments, by process and number, one per line',
      ...CHAIN,
    },
  },
};

export const caseGateGroups: readonly GroupRows[] = [gateKeys, venues, policies, subjects, decisions];

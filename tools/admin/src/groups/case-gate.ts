import { mintedText, neverText } from '../row-texts.ts';
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
      examples: [
        "sealgate gate-keys mint --environment live --label 'north door' --scope gate:check",
        'sealgate gate-keys mint --environment test --label desk --scope case:write --scope case:read --replaces key_01',
      ],
      body: { scopes: [] },
      text: (row) => mintedText(row, keyText),
    },
    list: {
      operation: 'listKeys',
      columns:
        'KEY id, ENVIRONMENT environment, LABEL label, BEGINS WITH keyPrefix, SCOPES scopes, LAST USED lastUsedAt, ' +
        'EXPIRES expiresAt, REVOKED revokedAt, ENDS endsAt',
      none: 'The environment has no keys.',
    },
    'get <keyId>': { operation: 'getKey' },
    'revoke <keyId>': {
      operation: 'revokeKey',
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
      columns: 'VENUE venue_id, ENVIRONMENT environment, NAME name, ACTIVE active, UPDATED updated_at',
      none: 'There are no venues.',
    },
    'get <venueId>': { operation: 'getVenue' },
    'create <venueId>': {
      operation: 'createVenue',
      examples: ["sealgate venues create harbour-hall --name 'Harbour Hall'"],
      options: { '--inactive': { words: 'deny everyone at first', sets: 'active', to: false } },
      done: 'The venue was created.',
    },
    'change <venueId>': {
      operation: 'changeVenue',
      examples: [
        'sealgate venues change harbour-hall --inactive',
        "sealgate venues change harbour-hall --name 'Old Hall'",
      ],
      options: {
        '--active': { words: 'allow eligible subjects', to: true },
        '--inactive': { words: 'deny everyone', sets: 'active', to: false },
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
      columns: 'VERSION policy_version, ENVIRONMENT environment, STATUS status, CREATED created_at, UPDATED updated_at',
      none: 'There are no policy versions.',
    },
    'get <policyVersion>': { operation: 'getPolicy' },
    'create <policyVersion>': {
      operation: 'createPolicy',
      examples: ['sealgate policies create 2030-01', 'sealgate policies create 2030-01 --active --environment test'],
      options: { '--active': { words: 'make it active at once', sets: 'status', to: 'active' } },
      done: 'The policy version was created.',
    },
    'activate <policyVersion>': {
      operation: 'changePolicy',
      summary: 'Activate a draft for decisions; its rules become immutable',
      options: { '--environment <name>': {} },
      only: true,
      body: { status: 'active' },
      done: 'The policy version is active.',
    },
    'retire <policyVersion>': {
      operation: 'changePolicy',
      summary: 'Retire a version permanently; earlier decisions stay',
      options: { '--environment <name>': {} },
      only: true,
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
    list: {
      operation: 'listSubjects',
      columns: 'SUBJECT subject_ref, STATUS status, VERSION record_version, CHANGED changed_at, INTACT intact',
      none: 'There are no subjects.',
    },
    'get <subjectRef>': { operation: 'getSubject' },
    'history <subjectRef>': {
      operation: 'listSubjectHistory',
      columns: 'VERSION record_version, AT changed_at, EVENT event, BY actor',
      none: 'The subject has no record.',
    },
    'suspend <subjectRef>': {
      operation: 'suspendSubject',
      examples: ["sealgate subjects suspend subj_ada --reason 'Review 7'"],
      done: 'The subject is suspended.',
    },
    'reinstate <subjectRef>': {
      operation: 'reinstateSubject',
      examples: ["sealgate subjects reinstate subj_ada --reason 'Review 7 is over'"],
      done: 'The subject is no longer suspended.',
    },
    'revoke <subjectRef>': {
      operation: 'revokeSubject',
      examples: ["sealgate subjects revoke subj_ada --reason 'Forged papers'"],
      confirm: 'Revoke <subjectRef> for ever?',
      done: 'The subject is revoked.',
    },
    unconfirmed: {
      operation: 'listUnconfirmedSubjects',
      columns: 'SUBJECT subject_ref, VERSION record_version, STATUS status, CHANGED changed_at, CAUSE cause',
      none: 'No subject needs a confirmation.',
    },
    'confirm <subjectRef>': {
      operation: 'confirmSubject',
      examples: ["sealgate subjects confirm subj_ada --record-version 4 --reason 'Compared with the case file'"],
      confirm: 'Let version <recordVersion> of <subjectRef> count again?',
      done: 'The subject is confirmed.',
    },
  },
};

const CHAIN: Pick<Row, 'details' | 'run'> = {
  details:
    'As NDJSON, for `sealgate-verify decisions`. Save the heads first: decisions made in the meantime are then after the last head, and all decisions covered by a head are included.',
  run: printLines,
};

const decisions: GroupRows = {
  name: 'decisions',
  summary: 'Decisions of the gate.',
  surfaces,
  commands: {
    list: {
      operation: 'listDecisions',
      examples: [
        'sealgate decisions list --subject subj_ada --limit 10',
        'sealgate decisions list --venue harbour-hall --decision deny --from 2030-01-01T00:00:00Z --all',
      ],
      options: { '--decision <answer>': { words: 'only these', choices: true } },
      columns:
        'DECISION decision_id, AT evaluated_at, SUBJECT subject_ref, VENUE venue_id, ANSWER decision, REASON reason_codes',
      none: 'There are no matching decisions.',
    },
    'get <decisionId>': { operation: 'getDecision' },
    heads: { operation: 'listDecisionHeads', ...CHAIN },
    log: { operation: 'listDecisionLog', ...CHAIN },
  },
};

export const caseGateGroups: readonly GroupRows[] = [gateKeys, venues, policies, subjects, decisions];

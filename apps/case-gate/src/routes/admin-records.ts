import { DECISION_HEAD_TYPE } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import { ADMIN_LIST_RANGE, adminBase, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { instantText, listOf, listQuery, named, type Route } from '@sealgate/http';
import { defined } from '@sealgate/json';
import { LedgerUnavailableError, type LedgerReader, type StoredRecord } from '@sealgate/ledger-port';
import { Type } from '@sinclair/typebox';
import type { DecisionsStore } from '../data/decisions-store.ts';
import { LoggedDecision } from '../domain/gate-decision.ts';
import { IdText, ReasonCode, SubjectRef, Text, VenueId, Verdict } from '../schemas.ts';
import {
  dateOf,
  environmentOf,
  environmentQuery,
  timePosition,
  timePositionOf,
  type AdminPorts,
} from './admin-base.ts';

const HeadRow = named(
  'DecisionHead',
  Type.Object({
    record: Type.Object(
      {
        id: Text,
        type: Text,
        data: Type.Object({}, { additionalProperties: true, description: 'The head of the hash chain of a process.' }),
      },
      { additionalProperties: true },
    ),
    receipt: Type.Object({}, { additionalProperties: true }),
    proof: Type.Object(
      {},
      { additionalProperties: true, description: 'Input of sealgate-verify, together with the receipt.' },
    ),
  }),
);

const ofProcess = { process: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{1,40}$' })) };

const DecisionsQuery = listQuery(ADMIN_LIST_RANGE, {
  ...environmentQuery,
  subject_ref: Type.Optional(SubjectRef),
  venue_id: Type.Optional(VenueId),
  decision: Type.Optional(Verdict),
  reason_code: Type.Optional(ReasonCode),
  key_id: Type.Optional(IdText),
  from: Type.Optional(instantText()),
  to: Type.Optional(instantText()),
});

export interface AdminRecordsPorts extends Pick<AdminPorts, 'cursors'> {
  readonly decisions: DecisionsStore;
  /** The embedded log. It receives the heads of decisions whichever ledger receives seals. */
  readonly embedded: Pick<LedgerReader, 'query' | 'prove'>;
  /** The channel of the heads of decisions. */
  readonly channel: string;
}

export function adminRecordRoutes(ports: AdminRecordsPorts): Route<AdminCaller>[] {
  const list = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/decisions',
    operationId: 'listDecisions',
    summary: 'List gate decisions, newest first',
    query: DecisionsQuery,
    responses: { 200: { description: 'A page.', schema: listOf(LoggedDecision) } },
    errors: [],
    async handler({ query }) {
      const environment = environmentOf({}, query);
      const { subject_ref, venue_id, decision, reason_code, key_id, from, to } = query;
      const listed = [subject_ref, venue_id, decision, from, to, reason_code, key_id].map((filter) => filter ?? '');
      const page = readPage(query, ports.cursors, ['decisions', environment, ...listed]);
      const equal = defined({ subject_ref, venue_id, decision, reason_code, key_id });
      const times = defined({ from: dateOf(from), to: dateOf(to) });
      const before = timePositionOf(page.after);
      const rows = await ports.decisions.list({ environment, equal, ...times }, { limit: page.limit + 1, before });
      const position = (row: LoggedDecision) => timePosition(new Date(row.evaluated_at), row.decision_id);
      return { status: 200, body: page.answer(rows, { item: (row) => row, position }) };
    },
  });
  const get = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/decisions/:decision_id',
    operationId: 'getDecision',
    summary: 'Read a gate decision',
    params: Type.Object({ decision_id: IdText }),
    responses: { 200: { description: 'The decision.', schema: LoggedDecision } },
    errors: ['NOT_FOUND'],
    async handler({ params }) {
      const row = await ports.decisions.find(params.decision_id);
      if (row === undefined) throw new AppError('NOT_FOUND', 'There is no such decision.');
      return { status: 200, body: row };
    },
  });
  return [list, get, chainRoute(ports), headsRoute(ports)];
}

function chainRoute(ports: AdminRecordsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/decision-log',
    operationId: 'listDecisionLog',
    summary: 'List the gate decisions of all environments, by process and sequence number',
    description: 'Saved by `sealgate decisions export`, checked by `sealgate-verify decisions`.',
    query: listQuery(ADMIN_LIST_RANGE, ofProcess),
    responses: { 200: { description: 'A page.', schema: listOf(LoggedDecision) } },
    errors: [],
    async handler({ query }) {
      const page = readPage(query, ports.cursors, ['decision-log', query.process ?? '']);
      const after = page.after === undefined ? undefined : String(page.after);
      const rows = await ports.decisions.inOrder({ process: query.process, after, limit: page.limit + 1 });
      return {
        status: 200,
        body: page.answer(rows, { item: (row) => row, position: ({ decision_id }) => decision_id }),
      };
    },
  });
}

function headsRoute(ports: AdminRecordsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/decision-heads',
    operationId: 'listDecisionHeads',
    summary: 'List the heads of decision chains in the ledger, by process and sequence number, each with its proof',
    query: listQuery(ADMIN_LIST_RANGE, ofProcess),
    responses: { 200: { description: 'A page.', schema: listOf(HeadRow) } },
    errors: ['LEDGER_UNAVAILABLE'],
    async handler({ query }) {
      const { embedded, channel, cursors } = ports;
      const page = readPage(query, cursors, ['decision-heads', query.process ?? '']);
      const prefix = `decisions_${query.process === undefined ? '' : `${query.process}_`}`;
      const order = { channel, type: DECISION_HEAD_TYPE, limit: page.limit + 1 };
      const found = await fromLedger(embedded.query({ ...order, afterId: String(page.after ?? prefix) }));
      const records = found.filter(({ id }) => id.startsWith(prefix));
      const proofs = await fromLedger(
        Promise.all(records.slice(0, page.limit).map(({ id }) => embedded.prove(channel, id))),
      );
      const item = (record: StoredRecord) => {
        const proved = proofs[records.indexOf(record)];
        if (proved === undefined) throw new Error('The ledger has no proof of a record that it returned.');
        return { record: { ...record, data: record.data as object }, receipt: proved.receipt, proof: proved.proof };
      };
      return { status: 200, body: page.answer(records, { item, position: ({ id }) => id }) };
    },
  });
}

/** @throws AppError LEDGER_UNAVAILABLE */
async function fromLedger<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (cause) {
    if (!(cause instanceof LedgerUnavailableError)) throw cause;
    throw new AppError('LEDGER_UNAVAILABLE', 'The ledger does not answer.', { retryAfterSeconds: 1, cause });
  }
}

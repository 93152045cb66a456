import { DECISION_HEAD_TYPE } from '@sealgate/envelope';
import { AppError } from '@sealgate/errors';
import {
  adminBase,
  adminRoute,
  exportedList,
  ledgerCall,
  listRoute,
  period,
  rowsOf,
  type AdminCaller,
} from '@sealgate/admin-api';
import { named, type Route } from '@sealgate/http';
import type { StoredRecord } from '@sealgate/ledger-port';
import { Type } from '@sinclair/typebox';
import type { DecisionsStore } from '../data/decisions-store.ts';
import { LoggedDecision } from '../domain/gate-decision.ts';
import { MOST_FOLLOWING, proveDecision, type HeadLog } from '../domain/prove-decision.ts';
import { IdText, OrNull, ReasonCode, Sha256, SubjectRef, Text, VenueId, Verdict } from '../schemas.ts';
import { environmentQuery, ofEnvironment, type AdminPorts } from './admin-base.ts';

const HeadRecord = named(
  'DecisionHeadRecord',
  Type.Object(
    {
      id: Text,
      type: Text,
      data: Type.Object({}, { additionalProperties: true, description: 'The head of the hash chain of a process.' }),
    },
    { additionalProperties: true },
  ),
);

const provedHead = {
  record: HeadRecord,
  receipt: Type.Object({}, { additionalProperties: true }),
  proof: Type.Object(
    {},
    { additionalProperties: true, description: 'Input of sealgate-verify, together with the receipt.' },
  ),
};

const HeadRow = named('DecisionHead', Type.Object(provedHead));

const DecisionProof = named(
  'DecisionProof',
  Type.Object({
    decision: LoggedDecision,
    prev_hash: OrNull(Sha256, { description: 'The hash of the decision before it, in the chain of its process.' }),
    following: Type.Array(LoggedDecision, {
      maxItems: MOST_FOLLOWING,
      description:
        'The decisions after it, up to the last one that the head covers: their hashes lead to that of the head.',
    }),
    ...provedHead,
  }),
);

const ofProcess = {
  process: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_-]{1,40}$', description: 'Only of this process.' })),
};

const filters = {
  ...environmentQuery,
  subject_ref: Type.Optional({ ...SubjectRef, description: 'Only about this subject.' }),
  venue_id: Type.Optional({ ...VenueId, description: 'Only at this venue.' }),
  decision: Type.Optional(Verdict),
  reason_code: Type.Optional({ ...ReasonCode, description: 'Only for this reason.' }),
  key_id: Type.Optional({ ...IdText, description: 'Only of checks with this key.' }),
  ...period,
};

export interface AdminRecordsPorts extends Pick<AdminPorts, 'cursors' | 'auditChange'> {
  readonly decisions: DecisionsStore;
  /** The embedded log. It receives the heads of decisions whichever ledger receives seals. */
  readonly embedded: HeadLog;
  /** The channel of the heads of decisions. */
  readonly channel: string;
}

export function adminRecordRoutes(ports: AdminRecordsPorts): Route<AdminCaller>[] {
  const list = exportedList({
    path: '/admin/v1/decisions',
    operationId: 'listDecisions',
    summary: 'List gate decisions, newest first',
    filters,
    defaults: ofEnvironment.defaults,
    sorts: { fields: ['evaluated_at'], default: '-evaluated_at' },
    name: 'decisions',
    boundTo: ['environment', 'subject_ref', 'venue_id', 'decision', 'from', 'to', 'reason_code', 'key_id'],
    ...rowsOf(() => ports.decisions.list),
    row: LoggedDecision,
    exported: { resource: 'decision', of: 'environment', auditChange: ports.auditChange },
    cursors: ports.cursors,
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
  return [...list, get, proofRoute(ports), chainRoute(ports), headsRoute(ports)];
}

function proofRoute(ports: AdminRecordsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/decisions/:decision_id/proof',
    operationId: 'getDecisionProof',
    summary: 'Prove a gate decision: what links it to the head of its chain in the ledger',
    description:
      'The decisions after it are part of the proof, so it also tells about others. 404 until a head covers the decision, ' +
      `within about a minute, and if more than ${MOST_FOLLOWING} decisions or dropped ones lie between.`,
    params: Type.Object({ decision_id: IdText }),
    responses: { 200: { description: 'The proof.', schema: DecisionProof } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'RECORD_ARCHIVED', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      const row = await ports.decisions.find(params.decision_id);
      if (row === undefined) throw new AppError('NOT_FOUND', 'There is no such decision.');
      const { decision, prevHash, following, head, proved } = await ledgerCall(proveDecision(ports, row));
      const record = { ...head, data: head.data as object };
      const { receipt, proof } = proved;
      return {
        status: 200,
        body: { decision, prev_hash: prevHash, following: [...following], record, receipt, proof },
      };
    },
  });
}

function chainRoute(ports: AdminRecordsPorts): Route<AdminCaller> {
  return listRoute({
    path: '/admin/v1/decision-log',
    operationId: 'listDecisionLog',
    summary: 'List the gate decisions of all environments, by process and sequence number',
    description: 'Saved by `sealgate decisions log`, checked by `sealgate-verify decisions`.',
    filters: ofProcess,
    name: 'decision-log',
    boundTo: ['process'],
    count: ({ process }) => ports.decisions.countInOrder(process),
    rows: (wanted) => ports.decisions.inOrder(wanted),
    positionOf: (row: LoggedDecision) => row.decision_id,
    row: LoggedDecision,
    cursors: ports.cursors,
  });
}

interface ProvedHead {
  readonly record: StoredRecord;
  readonly proved: Awaited<ReturnType<HeadLog['prove']>>;
}

function headsRoute(ports: AdminRecordsPorts): Route<AdminCaller> {
  const { embedded, channel, cursors } = ports;
  return listRoute({
    path: '/admin/v1/decision-heads',
    operationId: 'listDecisionHeads',
    summary: 'List the heads of decision chains in the ledger, by process and sequence number, each with its proof',
    filters: ofProcess,
    errors: ['FORBIDDEN', 'RECORD_ARCHIVED', 'LEDGER_UNAVAILABLE'],
    name: 'decision-heads',
    boundTo: ['process'],
    async rows({ process, limit, after }) {
      const prefix = `decisions_${process === undefined ? '' : `${process}_`}`;
      const order = { channel, type: DECISION_HEAD_TYPE, limit };
      const found = await ledgerCall(embedded.query({ ...order, afterId: after ?? prefix }));
      const records = found.filter(({ id }) => id.startsWith(prefix));
      // The last one of a full answer is not shown.
      const proofs = await ledgerCall(
        Promise.all(records.slice(0, limit - 1).map(({ id }) => embedded.prove(channel, id))),
      );
      return records.map((record, place) => ({ record, proved: proofs[place] }));
    },
    positionOf: ({ record }: ProvedHead) => record.id,
    row: HeadRow,
    rowOf({ record, proved }) {
      if (proved === undefined) throw new Error('The ledger has no proof of a record that it returned.');
      return { record: { ...record, data: record.data as object }, receipt: proved.receipt, proof: proved.proof };
    },
    cursors,
  });
}

import { AppError } from '@sealgate/errors';
import type { ArchiveOrder, ArchiveProgress, AuditReport, LedgerReader, StoredRecord } from '@sealgate/ledger-port';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import { ADMIN_BODY_MAX_BYTES, adminRoute, type AdminCaller } from './admin-app.ts';
import { archiveRoute } from './admin-archive.ts';
import { explorerRoutes, type LedgerExplorer } from './admin-ledger-explorer.ts';
import { asked, lossRoutes, type LossAdministration } from './admin-ledger-loss.ts';
import { Audit, AuditRunRow, ProvedRecord, RecordRow } from './admin-ledger-schemas.ts';
import { auditRunRow, AuditRuns } from './audit-runs.ts';
import { closedObject, lineOfText } from './parameters.ts';
import type { Route } from './route.ts';

/** An id in a path: one that no id can be is a row that is not there. */
const IdText = lineOfText({ min: 1, max: 1024 });

/** What an operator may do with a ledger: read, prove, audit, erase, archive, declare a loss. Nothing here writes a record. */
export interface LedgerAdministration extends LedgerReader, LossAdministration {
  readonly exploration: LedgerExplorer;
  /** Writes down who erased and why with the erasure, in the ledger's own tables. */
  erase(channel: string, id: string, reason: string, by: { actor: string; requestId: string }): Promise<boolean>;
  /** For a few seconds; undefined where there is no such channel. Rejects with ArchiveRefusedError. */
  archiveRecords(order: ArchiveOrder): Promise<ArchiveProgress | undefined>;
}

/** Writes down what was done to a record or a channel, by whom and why. */
export type AuditErasure = (
  context: { readonly caller: AdminCaller; readonly requestId: string },
  change: {
    readonly action: string;
    readonly resource: string;
    readonly resourceId: string;
    readonly detail: Readonly<Record<string, string>>;
  },
) => Promise<void>;

export interface AdminLedgerPorts {
  readonly ledger: LedgerAdministration;
  readonly cursors: CursorCodec;
  readonly auditChange: AuditErasure;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}

const ofRecord = Type.Object({ channel: IdText, recordId: IdText });
const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;

/** The ledger on the admin listener of any surface that holds one: read, prove, audit, erase, archive, declare a loss. */
export function adminLedgerRoutes(ports: AdminLedgerPorts): Route<AdminCaller>[] {
  return [
    ...explorerRoutes(ports),
    ...readingRoutes(ports),
    ...actingRoutes(ports),
    ...auditRoutes(ports),
    archiveRoute(ports),
    ...lossRoutes(ports.ledger, ports.auditChange),
  ];
}

/** Audits of any length: begun, left, and asked for again. */
function auditRoutes({ ledger, now, newId }: AdminLedgerPorts): Route<AdminCaller>[] {
  const runs = new AuditRuns({ ledger, now, newId });
  const begin = adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/audits',
    operationId: 'beginAudit',
    summary: 'Begin an audit that goes on by itself, or join the one that this process runs of the channel',
    params: Type.Object({ channel: IdText }),
    body: closedObject({}),
    bodyOptional: true,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 202: { description: 'The audit is under way.', schema: AuditRunRow } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE', 'OVERLOADED'],
    async handler({ params: { channel } }) {
      const known = (await asked(ledger.channels())).find((row) => row.channel === channel);
      if (known === undefined) throw new AppError('NOT_FOUND', 'There is no such channel.');
      return { status: 202, body: auditRunRow(runs.begin(channel, known.size)) };
    },
  });
  const find = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/audits/:auditId',
    operationId: 'getAudit',
    summary: 'How far an audit came, and what it found. The process that runs it keeps it while it lives',
    params: Type.Object({ channel: IdText, auditId: IdText }),
    responses: { 200: { description: 'The audit.', schema: AuditRunRow } },
    errors: ['FORBIDDEN', 'NOT_FOUND'],
    async handler({ params: { channel, auditId } }) {
      const run = runs.find(channel, auditId);
      if (run === undefined) throw new AppError('NOT_FOUND', 'This process knows no such audit: begin it again.');
      return { status: 200, body: auditRunRow(run) };
    },
  });
  return [begin, find];
}

function readingRoutes({ ledger }: AdminLedgerPorts): Route<AdminCaller>[] {
  const checkpoint = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/checkpoint',
    operationId: 'getCheckpoint',
    summary: 'The newest signed checkpoint (C2SP tlog-checkpoint)',
    params: Type.Object({ channel: IdText }),
    responses: { 200: { description: 'A signed note.', contentType: 'text/plain; charset=utf-8' } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      const note = await asked(ledger.checkpoint(params.channel));
      if (note === undefined) throw new AppError('NOT_FOUND', 'The channel has no checkpoint.');
      return { status: 200, body: note, contentType: 'text/plain; charset=utf-8' };
    },
  });
  const record = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/records/:recordId',
    operationId: 'getRecord',
    summary: 'Read a record',
    params: ofRecord,
    responses: { 200: { description: 'The record.', schema: RecordRow } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'RECORD_ARCHIVED', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      return { status: 200, body: rowOf(found(await asked(ledger.read(params.channel, params.recordId)))) };
    },
  });
  const proof = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/records/:recordId/proof',
    operationId: 'getProof',
    summary: 'A receipt and its inclusion proof, as the offline verifier takes them',
    params: ofRecord,
    responses: { 200: { description: 'The proof.', schema: ProvedRecord } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'RECORD_ARCHIVED', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      return { status: 200, body: found(await asked(ledger.prove(params.channel, params.recordId))) };
    },
  });
  return [checkpoint, record, proof];
}

function actingRoutes({ ledger, auditChange }: AdminLedgerPorts): Route<AdminCaller>[] {
  const audit = adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/audit',
    operationId: 'auditChannel',
    summary: 'Walk the whole channel; name the first record that is not what was written',
    params: Type.Object({ channel: IdText }),
    body: closedObject({}),
    bodyOptional: true,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'What was found.', schema: Audit } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const { channel } = context.params;
      const known = await asked(ledger.channels());
      if (!known.some((row) => row.channel === channel)) throw new AppError('NOT_FOUND', 'There is no such channel.');
      const report: AuditReport = await asked(ledger.audit(channel, context.signal));
      return { status: 200, body: report };
    },
  });
  const erase = adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/records/:recordId/erase',
    operationId: 'eraseRecord',
    summary: 'Remove salt and content of a record for ever; its proofs stay valid',
    params: ofRecord,
    body: closedObject({ reason: lineOfText({ min: 1, max: 200 }) }),
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The record without its content.', schema: RecordRow } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'RECORD_ARCHIVED', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const { channel, recordId } = context.params;
      const { reason } = context.body;
      const stored = found(await asked(ledger.read(channel, recordId)));
      const change = { action: 'record.erase', resource: 'record', resourceId: recordId, detail: { channel, reason } };
      // The audit event first: an erasure without one must not be possible, one without an erasure can be done again.
      await auditChange(context, change);
      const { caller, requestId } = context;
      await asked(ledger.erase(channel, recordId, reason, { actor: caller.actor, requestId }));
      // Not read again: what is erased must not be answered with an outage of the files.
      return { status: 200, body: rowOf({ ...stored, data: null, extra: null, erased: true }) };
    },
  });
  return [audit, erase];
}

function rowOf(stored: StoredRecord): Static<typeof RecordRow> {
  const { id, network, channel, type, owner, data, extra, index, epoch, transactionId, at, erased } = stored;
  const place = { ...(index === undefined ? {} : { index }), ...(epoch === undefined ? {} : { epoch }) };
  return {
    id,
    network,
    channel,
    type,
    owner,
    data,
    extra,
    ...place,
    transactionId,
    at,
    ...(erased ? { erased: true as const } : {}),
  };
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new AppError('NOT_FOUND', 'There is no such record.');
  return value;
}

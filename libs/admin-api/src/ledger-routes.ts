import { AppError } from '@sealgate/errors';
import { type Route, closedObject, lineOfText, named } from '@sealgate/http';
import type { ArchiveOrder, ArchiveProgress, AuditReport, LedgerReader, StoredRecord } from '@sealgate/ledger-port';
import type { CursorCodec } from '@sealgate/paging';
import { type Static, Type } from '@sinclair/typebox';
import { ADMIN_BODY_MAX_BYTES, adminBase, type AdminCaller, adminRoute, type AuditLedgerChange } from './admin-app.ts';
import { explorerRoutes, type LedgerExplorer } from './ledger-explorer.ts';
import { knownChannel, ledgerCall, type LossAdministration, lossRoutes, noChannel } from './ledger-loss.ts';
import { Audit, AuditRunRow, ProvedRecord, RecordRow } from './ledger-schemas.ts';
import { auditRunRow, AuditRuns } from './audit-runs.ts';

/** An id in a path. A value that cannot be an id answers 404, like a missing row. */
const IdText = lineOfText({ min: 1, max: 1024 });

/** Admin operations on a ledger: read, prove, audit, erase, archive, declare a loss. None writes a record. */
export interface LedgerAdministration extends LedgerReader, LossAdministration {
  readonly exploration: LedgerExplorer;
  /** Records actor and reason together with the erasure, in the ledger's own tables. */
  erase(channel: string, id: string, reason: string, by: { actor: string; requestId: string }): Promise<boolean>;
  /** Works for a few seconds. Undefined if there is no such channel. Rejects with ArchiveRefusedError. */
  archiveRecords(order: ArchiveOrder): Promise<ArchiveProgress | undefined>;
}

export interface AdminLedgerPorts {
  readonly ledger: LedgerAdministration;
  readonly cursors: CursorCodec;
  readonly auditChange: AuditLedgerChange;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}

const ofRecord = Type.Object({ channel: IdText, recordId: IdText });

/** The ledger routes of the admin listener: read, prove, audit, erase, archive, declare a loss. */
export function adminLedgerRoutes(ports: AdminLedgerPorts): Route<AdminCaller>[] {
  return [
    ...explorerRoutes(ports),
    checkpointRoute(ports),
    ...adminRecordRoutes(ports),
    ...actingRoutes(ports),
    ...auditRoutes(ports),
    archiveRoute(ports),
    ...lossRoutes(ports),
  ];
}

/** Background audits: start one, and poll its result. */
function auditRoutes({ ledger, now, newId }: AdminLedgerPorts): Route<AdminCaller>[] {
  const runs = new AuditRuns(ledger, now, newId);
  const begin = adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/audits',
    operationId: 'beginAudit',
    summary: 'Start a background audit, or join the one that this process runs for the channel',
    params: Type.Object({ channel: IdText }),
    body: closedObject({}),
    bodyOptional: true,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 202: { description: 'The audit is running.', schema: AuditRunRow } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE', 'OVERLOADED'],
    async handler({ params: { channel } }) {
      const size = await knownChannel(ledger, channel);
      return { status: 202, body: auditRunRow(runs.begin(channel, size)) };
    },
  });
  const find = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/audits/:auditId',
    operationId: 'getAudit',
    summary: 'Get the progress and result of an audit. Only the process that runs it has it, until it exits',
    params: Type.Object({ channel: IdText, auditId: IdText }),
    responses: { 200: { description: 'The audit.', schema: AuditRunRow } },
    errors: ['FORBIDDEN', 'NOT_FOUND'],
    async handler({ params: { channel, auditId } }) {
      const run = runs.find(channel, auditId);
      if (run === undefined) throw new AppError('NOT_FOUND', 'This process has no such audit: start it again.');
      return { status: 200, body: auditRunRow(run) };
    },
  });
  return [begin, find];
}

function checkpointRoute({ ledger }: Pick<AdminLedgerPorts, 'ledger'>): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/checkpoint',
    operationId: 'getCheckpoint',
    summary: 'Get the newest signed checkpoint (C2SP tlog-checkpoint)',
    description: 'Save it elsewhere: only a saved checkpoint reveals a ledger restored to an older state.',
    params: Type.Object({ channel: IdText }),
    responses: { 200: { description: 'A signed note.', contentType: 'text/plain; charset=utf-8' } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      const note = await ledgerCall(ledger.checkpoint(params.channel));
      if (note === undefined) throw new AppError('NOT_FOUND', 'The channel has no checkpoint.');
      return { status: 200, body: note, contentType: 'text/plain; charset=utf-8' };
    },
  });
}

/** Reads and proves single records: all that the admin listener offers of a ledger on Fabric. */
export function adminRecordRoutes({
  ledger,
}: {
  readonly ledger: Pick<LedgerReader, 'read' | 'prove'>;
}): Route<AdminCaller>[] {
  const record = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/records/:recordId',
    operationId: 'getRecord',
    summary: 'Read a record',
    params: ofRecord,
    responses: { 200: { description: 'The record.', schema: RecordRow } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'RECORD_ARCHIVED', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      return { status: 200, body: rowOf(found(await ledgerCall(ledger.read(params.channel, params.recordId)))) };
    },
  });
  const proof = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/records/:recordId/proof',
    operationId: 'getProof',
    summary: 'Get the receipt of a record and its proof, in the format of the offline verifier',
    description: 'On Fabric peers sign it now; 503 while too few answer. The others of its transaction are in it.',
    params: ofRecord,
    responses: { 200: { description: 'The proof.', schema: ProvedRecord } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'RECORD_ARCHIVED', 'LEDGER_UNAVAILABLE'],
    async handler({ params }) {
      const proved = found(await ledgerCall(ledger.prove(params.channel, params.recordId)));
      return { status: 200, body: proved, holdsSecret: true };
    },
  });
  return [record, proof];
}

function actingRoutes({ ledger, auditChange }: AdminLedgerPorts): Route<AdminCaller>[] {
  const audit = adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/audit',
    operationId: 'auditChannel',
    summary: 'Check the whole channel; report the first record that differs from what was written',
    params: Type.Object({ channel: IdText }),
    body: closedObject({}),
    bodyOptional: true,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The result.', schema: Audit } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const { channel } = context.params;
      await knownChannel(ledger, channel);
      const report: AuditReport = await ledgerCall(ledger.audit(channel, context.signal));
      return { status: 200, body: report };
    },
  });
  const erase = adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/records/:recordId/erase',
    operationId: 'eraseRecord',
    summary: 'Erase salt and data of a record permanently; its proofs stay valid',
    description:
      'The log then proves that something was written and when, but no longer what. The reason is stored in the audit log.',
    params: ofRecord,
    body: closedObject({
      reason: { ...lineOfText({ min: 1, max: 200 }), description: 'The reason, without personal data.' },
    }),
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The record without its data.', schema: RecordRow } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'RECORD_ARCHIVED', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const { channel, recordId } = context.params;
      const { reason } = context.body;
      const stored = found(await ledgerCall(ledger.read(channel, recordId)));
      const change = { action: 'record.erase', resource: 'record', resourceId: recordId, detail: { channel, reason } };
      // Write the audit event first: there must be no erasure without one. An event without an erasure can be repeated.
      await auditChange(context, change);
      const { caller, requestId } = context;
      await ledgerCall(ledger.erase(channel, recordId, reason, { actor: caller.actor, requestId }));
      // Do not read the record again: an outage of the archive files must not fail a completed erasure.
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

const Archived = named(
  'ArchiveProgress',
  Type.Object({
    channel: Type.String(),
    size: Type.Integer(),
    archived: Type.Integer({ description: 'Records in the archive, counted from the first one.' }),
    until: Type.Integer({ description: 'Target of the request: repeat it until archived equals this.' }),
  }),
);

const DAY_MS = 86_400_000;

/**
 * Moves records of a channel to archive files for a few seconds per request; the client repeats the request until it is
 * done.
 */
function archiveRoute({ ledger, auditChange, now }: AdminLedgerPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/archive',
    operationId: 'archiveRecords',
    summary: 'Move the records below an index to the archive files, for some seconds; repeat the request to continue',
    description:
      'Processes with the archive (LEDGER_ARCHIVE_DIR) can still read, prove, audit and erase them; ids stay taken. Only ' +
      'whole tiles of 256 signed records are moved. A repeated request signs the archive again.',
    params: Type.Object({ channel: lineOfText({ min: 1, max: 1024 }) }),
    body: closedObject({
      before: Type.Optional(Type.Integer({ minimum: 0, description: 'The first index to keep.' })),
      olderThanDays: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 36_500, description: 'Move records older than this, in place of before.' }),
      ),
    }),
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'Progress of the archive.', schema: Archived } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'INVALID_STATE_TRANSITION', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const { channel } = context.params;
      const { before, olderThanDays } = context.body;
      if ((before === undefined) === (olderThanDays === undefined)) {
        throw new AppError('INVALID_REQUEST', 'Give either before or olderThanDays.', {
          faults: [{ in: 'body', pointer: '', detail: 'must have exactly one of before and olderThanDays' }],
        });
      }
      await knownChannel(ledger, channel);
      const detail = {
        channel,
        ...(before === undefined ? { olderThanDays: `${olderThanDays}` } : { before: `${before}` }),
      };
      await auditChange(context, { action: 'channel.archive', resource: 'channel', resourceId: channel, detail });
      const archiveOrder =
        before === undefined
          ? { channel, olderThanMs: Math.floor(now()) - olderThanDays! * DAY_MS }
          : { channel, before };
      const progress = await ledgerCall(ledger.archiveRecords(archiveOrder));
      if (progress === undefined) throw noChannel();
      return { status: 200, body: progress };
    },
  });
}

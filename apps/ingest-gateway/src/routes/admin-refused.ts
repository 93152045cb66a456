import { AppError } from '@sealgate/errors';
import {
  type AuditLedgerChange,
  ADMIN_BODY_MAX_BYTES,
  adminBase,
  adminRoute,
  exportedList,
  rowsOf,
  period,
  periodText,
  type AdminCaller,
} from '@sealgate/admin-api';
import { closedObject, enumOf, lineOfText, listOf, named, type RequestNotes, type Route } from '@sealgate/http';
import type { AuditChange } from '@sealgate/audit';
import { defined, instantOf } from '@sealgate/json';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import type { RefusedStore } from '../data/refused-store.ts';
import { findSource, type ManageSourcesPorts } from '../domain/manage-sources.ts';
import type { HeldBody } from '../domain/body-budget.ts';
import {
  doneOutcomeOf,
  REFUSAL_REASONS,
  whyNotKept,
  type KeptDelivery,
  type ListedRefusal,
} from '../domain/refusals.ts';
import type { TestOutcome } from '../domain/test-delivery.ts';
import { IdText, OrNull, Text, Time } from '../schemas.ts';

export const Reason = enumOf('RefusalReason', REFUSAL_REASONS);

export const RefusedRow = named(
  'RefusedDelivery',
  Type.Object({
    refusedId: Text,
    at: Time,
    code: Type.String({
      description: 'The problem code of the refusal; of a conflict, which was answered 200, its kind.',
    }),
    reason: Reason,
    authentic: Type.Boolean({ description: 'Whether its signature was verified.' }),
    header: OrNull(Type.String({ description: 'The header that is missing or malformed.' })),
    skewSeconds: OrNull(
      Type.Integer({ description: 'How far its timestamp is ahead of our clock; negative where it is behind.' }),
    ),
    pointer: OrNull(Type.String({ description: 'The place in the body.' })),
    detail: Type.String({ description: 'In words, with line and column for what is no JSON.' }),
    deliveryId: OrNull(Text),
    mediaType: OrNull(Text),
    bodyBytes: OrNull(Type.Integer()),
    requestId: Text,
    eventId: OrNull(
      Type.String({ description: 'The event of a conflict, or of the record that was written from it.' }),
    ),
    keptUntil: OrNull(Time),
    processedAt: OrNull(Time),
    outcome: OrNull(
      Type.String({ description: 'Of processing it again: that of a delivery, or the code of the refusal.' }),
    ),
  }),
);

/** Filters of refused deliveries, of one source or of all. */
export const refusalFilters = {
  reason: Type.Optional(Reason),
  deliveryId: Type.Optional({
    ...lineOfText({ min: 1, max: 512 }),
    description: 'Only with this delivery id of the sender.',
  }),
  requestId: Type.Optional({
    ...lineOfText({ min: 1, max: 128 }),
    description: 'Only with this X-Request-Id of its answer.',
  }),
};

const CountRow = named(
  'RefusalCount',
  Type.Object({
    code: Text,
    reason: OrNull(Type.String({ description: 'Null for refusals of a flood, which were not looked at.' })),
    deliveries: Type.Integer(),
    lastAt: Time,
    lastSkewSeconds: OrNull(Type.Integer()),
  }),
);

const ProcessAnswer = named(
  'ProcessedDelivery',
  Type.Object({
    status: Type.Integer({ description: 'The status that the sender would receive now.' }),
    code: OrNull(Type.String({ description: 'The problem code of a refusal.' })),
    outcome: OrNull(enumOf('ProcessOutcome', ['written', 'replayed', 'conflict', 'answered'])),
    eventId: OrNull(Text),
  }),
);

export interface AdminRefusedPorts extends Pick<ManageSourcesPorts, 'sources' | 'now'> {
  readonly refused: RefusedStore;
  /** Room for a body, within the bounds of those that arrive. */
  readonly holdBody: (sourceId: string) => HeldBody;
  /** Takes a kept delivery again. */
  readonly processAgain: (about: {
    readonly sourceId: string;
    readonly requestId: string;
    readonly delivery: KeptDelivery;
    readonly receivedAt: Date;
    readonly deliveryIdThen: string | undefined;
  }) => Promise<TestOutcome>;
  readonly cursors: CursorCodec;
  readonly auditChange: AuditChange & AuditLedgerChange;
}

const PATH = '/admin/v1/networks/:networkId/sources/:sourceId/refused';
const params = Type.Object({ networkId: IdText, sourceId: IdText });
const base = { ...adminBase, tags: ['sources'] } as const;

export function adminRefusedRoutes(ports: AdminRefusedPorts): Route<AdminCaller>[] {
  const { refused, cursors } = ports;
  const list = exportedList({
    tags: base.tags,
    path: PATH,
    operationId: 'listRefusedDeliveries',
    summary: 'List refused deliveries of a source with their reasons, newest first',
    description:
      'Authentic ones, as far as they are not more than 10,000, and the newest 100 of which no signature was verified. ' +
      'Nothing of their bodies is shown. The sender was told nothing but the status.',
    params,
    filters: {
      code: Type.Optional({
        ...lineOfText({ min: 1, max: 64 }),
        description: 'Only with this problem code, such as PAYLOAD_TOO_LARGE.',
      }),
      ...refusalFilters,
      ...period,
    },
    errors: ['NOT_FOUND'],
    name: 'refused',
    boundTo: ['sourceId', 'code', 'reason', 'deliveryId', 'requestId', 'from', 'to'],
    holder: ({ networkId, sourceId }) => findSource(ports, networkId, sourceId),
    sorts: { fields: ['at'], default: '-at' },
    ...rowsOf(() => refused.list, rowOf),
    row: RefusedRow,
    exported: { resource: 'source', of: 'sourceId', auditChange: ports.auditChange },
    cursors,
  });
  const counts = adminRoute({
    ...base,
    method: 'get',
    path: `${PATH}/counts`,
    operationId: 'countRefusedDeliveries',
    summary: 'Count refused deliveries of a source, and conflicts, by code and reason',
    params,
    query: Type.Object(periodText, { additionalProperties: false }),
    responses: { 200: { description: 'The counts, in whole minutes.', schema: listOf(CountRow) } },
    errors: ['NOT_FOUND'],
    async handler({ params: { networkId, sourceId }, query }) {
      await findSource(ports, networkId, sourceId);
      const rows = await refused.counts(sourceId, timesOf(query));
      return {
        status: 200,
        body: { items: rows.map(({ lastAt, ...row }) => ({ ...row, lastAt: lastAt.toISOString() })), nextCursor: null },
      };
    },
  });
  const process = adminRoute({
    ...base,
    method: 'post',
    path: `${PATH}/:refusedId/process`,
    operationId: 'processRefusedDelivery',
    summary: 'Process a kept delivery again, with the settings of its source as they are now',
    description:
      'Every check is made anew; the timestamp is compared with the time at which it was received. It is written once, ' +
      'however often this is called and whatever its sender repeats: once it is done, the answer is that outcome and ' +
      'its event again. 409 where its body is not kept, with the reason in `detail`: only a source with ' +
      '`keepRefusedHours` keeps deliveries, from then on.',
    params: Type.Object({ networkId: IdText, sourceId: IdText, refusedId: IdText }),
    body: closedObject({}),
    bodyOptional: true,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'What came of it.', schema: ProcessAnswer } },
    errors: ['NOT_FOUND', 'INVALID_STATE_TRANSITION', 'OVERLOADED'],
    async handler(context) {
      const { networkId, sourceId, refusedId } = context.params;
      const { settings } = await findSource(ports, networkId, sourceId);
      const row = await refused.find(sourceId, refusedId);
      if (row === undefined) throw new AppError('NOT_FOUND', 'There is no such refused delivery.');
      const done = doneOutcomeOf(row);
      if (done !== undefined)
        return { status: 200, body: { status: 200, code: null, outcome: done, eventId: row.eventId ?? null } };
      const held = ports.holdBody(sourceId);
      try {
        held.arrived(row.bodyBytes ?? 0);
        const delivery = await refused.open(refusedId);
        if (delivery === undefined)
          throw new AppError('INVALID_STATE_TRANSITION', whyNotKept(row, settings, ports.now()));
        const change = { action: 'source.process', resource: 'source', resourceId: sourceId };
        // Audited before it may write, so that no record lacks its event.
        await ports.auditChange(context, { ...change, detail: { refusedId } });
        const { requestId } = context;
        const deliveryIdThen = row.deliveryId;
        const outcome = await ports.processAgain({ sourceId, requestId, delivery, receivedAt: row.at, deliveryIdThen });
        const { status, code, answer } = outcome;
        context.note(notesOf(outcome));
        const isDone = doneOutcomeOf({ outcome: answer?.outcome }) !== undefined;
        await refused.processed(refusedId, { outcome: answer?.outcome ?? code!, isDone, eventId: answer?.eventId });
        return {
          status: 200,
          body: { status, code, outcome: answer?.outcome ?? null, eventId: answer?.eventId ?? null },
        };
      } finally {
        held.release();
      }
    },
  });
  return [...list, counts, process];
}

function timesOf({ from, to }: { readonly from?: string; readonly to?: string }) {
  return { from: from === undefined ? undefined : instantOf(from), to: to === undefined ? undefined : instantOf(to) };
}

/** A refused delivery as the API returns it. */
export function rowOf({
  sourceId: _,
  isAuthentic,
  at,
  keptUntil,
  processedAt,
  ...row
}: ListedRefusal): Static<typeof RefusedRow> {
  const { refusedId, code, reason, detail, requestId } = row;
  return {
    refusedId,
    at: at.toISOString(),
    code,
    reason,
    authentic: isAuthentic,
    detail,
    requestId,
    header: row.header ?? null,
    skewSeconds: row.skewSeconds ?? null,
    pointer: row.pointer ?? null,
    deliveryId: row.deliveryId ?? null,
    mediaType: row.mediaType ?? null,
    bodyBytes: row.bodyBytes ?? null,
    eventId: row.eventId ?? null,
    keptUntil: keptUntil?.toISOString() ?? null,
    processedAt: processedAt?.toISOString() ?? null,
    outcome: row.outcome ?? null,
  };
}

/** What the log says of a delivery that was processed again. */
function notesOf({ code, answer }: TestOutcome): RequestNotes {
  if (answer === null) return { outcome: code };
  const { outcome, eventId, transactionId } = answer;
  return defined({ outcome, eventId, transactionId });
}

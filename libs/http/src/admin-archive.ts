import { AppError } from '@sealgate/errors';
import { Type } from '@sinclair/typebox';
import { ADMIN_BODY_MAX_BYTES, adminRoute, type AdminCaller } from './admin-app.ts';
import { asked } from './admin-ledger-loss.ts';
import type { AdminLedgerPorts } from './admin-ledger.ts';
import { named } from './named-schema.ts';
import { closedObject, lineOfText } from './parameters.ts';
import type { Route } from './route.ts';

const Archived = named(
  'ArchiveProgress',
  Type.Object({
    channel: Type.String(),
    size: Type.Integer(),
    archived: Type.Integer({ description: 'Records that lie in the archive, from the first on.' }),
    until: Type.Integer({ description: 'How far it goes when the request is sent until archived is this.' }),
  }),
);

const DAY_MS = 86_400_000;

/** Records of a channel go into files, a few seconds at a time: whoever asks sends the same request again until it is done. */
export function archiveRoute({ ledger, auditChange, now }: AdminLedgerPorts): Route<AdminCaller> {
  return adminRoute({
    charge: 'none',
    idempotency: 'none',
    permit: 'authenticated',
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/archive',
    operationId: 'archiveRecords',
    summary: 'Move the records below an index into the files of the archive, for some seconds; sent again, it goes on',
    params: Type.Object({ channel: lineOfText({ min: 1, max: 1024 }) }),
    body: closedObject({
      before: Type.Optional(Type.Integer({ minimum: 0, description: 'The first index that stays.' })),
      olderThanDays: Type.Optional(Type.Integer({ minimum: 1, maximum: 36_500, description: 'Instead of an index.' })),
    }),
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'How far the archive reaches now.', schema: Archived } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'INVALID_STATE_TRANSITION', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const { channel } = context.params;
      const { before, olderThanDays } = context.body;
      if ((before === undefined) === (olderThanDays === undefined)) {
        throw new AppError('INVALID_REQUEST', 'Give either before or olderThanDays.', {
          faults: [{ in: 'body', pointer: '', detail: 'has to have one of before and olderThanDays' }],
        });
      }
      const known = (await asked(ledger.channels())).find((row) => row.channel === channel);
      if (known === undefined) throw new AppError('NOT_FOUND', 'There is no such channel.');
      const detail = {
        channel,
        ...(before === undefined ? { olderThanDays: `${olderThanDays}` } : { before: `${before}` }),
      };
      await auditChange(context, { action: 'channel.archive', resource: 'channel', resourceId: channel, detail });
      const order =
        before === undefined
          ? { channel, olderThanMs: Math.floor(now()) - olderThanDays! * DAY_MS }
          : { channel, before };
      const progress = await asked(ledger.archiveRecords(order));
      if (progress === undefined) throw new AppError('NOT_FOUND', 'There is no such channel.');
      return { status: 200, body: progress };
    },
  });
}

import { AppError } from '@sealgate/errors';
import {
  ArchiveRefusedError,
  LedgerArchivedError,
  LedgerForbiddenError,
  LedgerUnavailableError,
} from '@sealgate/ledger-port';
import { Type, type Static } from '@sinclair/typebox';
import { ADMIN_BODY_MAX_BYTES, adminRoute, type AdminCaller } from './admin-app.ts';
import type { AuditErasure } from './admin-ledger.ts';
import { enumOf, named } from './named-schema.ts';
import { closedObject, instantText, lineOfText } from './parameters.ts';
import type { Route } from './route.ts';

const Text = Type.String();
const OrNull = <Schema extends typeof Text>(schema: Schema) => Type.Union([schema, Type.Null()]);
const Note = 'A signed note (C2SP tlog-checkpoint)';

const LostEntries = named(
  'LostEntries',
  Type.Object({
    epoch: Type.Integer({ description: 'Of which log of the channel; 0 is the one it began with.' }),
    lostFrom: Type.Integer({ description: 'The first index of that log that was signed for and is lost.' }),
    lostUntil: Type.Integer({ description: 'The first one behind; the same where the log ended and lost nothing.' }),
    checkpoint: Type.String({ description: `${Note}: the newest that is kept of that log.` }),
    surviving: Type.Union([Text, Type.Null()], { description: `${Note}: the newest that what is left continues.` }),
  }),
);

/** The statement that an epoch of a channel begins with, as `@sealgate/envelope` describes it. */
export const DeclaredLoss = named(
  'DeclaredLoss',
  Type.Object({
    type: Type.Literal('sealgate.declaration.v1'),
    network: Text,
    channel: Text,
    epoch: Type.Integer({ minimum: 1 }),
    origin: Type.String({ description: 'The first line of the checkpoints of this epoch.' }),
    lost: Type.Array(LostEntries, { description: 'Oldest log first.' }),
    reason: Text,
    actor: Text,
    at: instantText(),
  }),
);

const Loss = named(
  'ChannelLoss',
  Type.Object({
    channel: Text,
    status: enumOf('LossStatus', ['whole', 'lost', 'declared'], {
      description:
        '`lost`: the channel takes no records. `declared`: nor does it yet, and goes on by itself once its next epoch is signed for.',
    }),
    problem: OrNull(Text),
    lost: Type.Array(LostEntries, { description: 'Oldest log first; empty where the channel is whole.' }),
    foundAt: Type.Union([instantText(), Type.Null()]),
    sharedAt: Type.Union([instantText(), Type.Null()], {
      description: 'When the last record was written that is not lost. What was written later may be.',
    }),
    epoch: Type.Integer({ description: 'The one that the channel goes on in; 0 before its first declared loss.' }),
    declaration: Type.Union([DeclaredLoss, Type.Null()], { description: 'Of the newest declared loss.' }),
  }),
);

/** What an operator may know and say of records that were lost. */
export interface LossAdministration {
  channels(): Promise<readonly { channel: string; size: number }[]>;
  loss(channel: string): Promise<
    Omit<Static<typeof Loss>, 'lost'> & {
      readonly lost: readonly Static<typeof LostEntries>[];
    }
  >;
  /** False: what is lost is not what `checkpoint` is the newest of. Again: nothing happens. */
  declareLoss(
    channel: string,
    declared: { reason: string; checkpoint: string; actor: string; requestId: string },
  ): Promise<boolean>;
}

const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;
const params = Type.Object({ channel: lineOfText({ min: 1, max: 1024 }) });

/** What a channel lost, and the way on. */
export function lossRoutes(ledger: LossAdministration, auditChange: AuditErasure): Route<AdminCaller>[] {
  const find = async (channel: string) => {
    const known = await asked(ledger.channels());
    if (!known.some((row) => row.channel === channel)) throw new AppError('NOT_FOUND', 'There is no such channel.');
    const loss = await asked(ledger.loss(channel));
    return { ...loss, lost: [...loss.lost] };
  };
  const read = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/loss',
    operationId: 'getLoss',
    summary: 'Whether the channel lost records that were signed for, which, and how it goes on',
    params,
    responses: { 200: { description: 'What is known.', schema: Loss } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    handler: async (context) => ({ status: 200, body: await find(context.params.channel) }),
  });
  const declare = adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/loss/declare',
    operationId: 'declareLoss',
    summary: 'Declare what the channel lost, so that it goes on in its next epoch. It cannot be taken back',
    description:
      'Any process takes it whose DATABASE_URL is of a role that may integrate; the integrator signs for the epoch, and some ' +
      'seconds later the channel takes records. Sent again for the same loss, nothing happens.',
    params,
    body: closedObject({
      reason: lineOfText({ min: 1, max: 1000 }),
      checkpoint: Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'The checkpoint of the last entry of `lost`, as it was read: what nobody has seen nobody declares.',
      }),
    }),
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 202: { description: 'It is declared.', schema: Loss } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'INVALID_STATE_TRANSITION', 'PRECONDITION_FAILED', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const { channel } = context.params;
      const { reason, checkpoint } = context.body;
      const before = await find(channel);
      const isDeclared = before.declaration?.lost.at(-1)?.checkpoint === checkpoint;
      if (!isDeclared && before.status !== 'lost')
        throw new AppError('INVALID_STATE_TRANSITION', 'The channel lost nothing that was not declared.');
      if (!isDeclared) {
        if (before.lost.at(-1)?.checkpoint !== checkpoint) throw changed();
        const change = { action: 'channel.declare-loss', resource: 'channel', resourceId: channel, detail: { reason } };
        // The audit event first: a declaration without one must not be possible.
        await auditChange(context, change);
      }
      const { caller, requestId } = context;
      const declared = { reason, checkpoint, actor: caller.actor, requestId };
      if (!(await asked(ledger.declareLoss(channel, declared), NOT_INTEGRATING))) throw changed();
      return { status: 202, body: await find(channel) };
    },
  });
  return [read, declare];
}

const changed = () => new AppError('PRECONDITION_FAILED', 'This is not what the channel lost: read it again.');

const NOT_INTEGRATING =
  'The role of DATABASE_URL may not integrate: ask a process with LEDGER_INTEGRATOR=true on this database.';
const NO_RIGHT = 'The database role of this listener has no right to this channel: see ADMIN_DATABASE_URL.';

/** A ledger that cannot be asked is 503, never "not found"; what the role of this listener may not ask is 403. */
export async function asked<Value>(answer: Promise<Value>, forbidden = NO_RIGHT): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ArchiveRefusedError)
      throw new AppError('INVALID_STATE_TRANSITION', error.message, { cause: error });
    if (error instanceof LedgerArchivedError) throw new AppError('RECORD_ARCHIVED', error.message, { cause: error });
    if (error instanceof LedgerForbiddenError) throw new AppError('FORBIDDEN', forbidden, { cause: error });
    if (!(error instanceof LedgerUnavailableError)) throw error;
    throw new AppError('LEDGER_UNAVAILABLE', 'The ledger cannot be asked.', { retryAfterSeconds: 1, cause: error });
  }
}

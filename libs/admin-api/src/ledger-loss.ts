import { AppError } from '@sealgate/errors';
import { type Route, closedObject, enumOf, instantText, lineOfText, named, orNull } from '@sealgate/http';
import {
  ArchiveRefusedError,
  LedgerArchivedError,
  LedgerForbiddenError,
  LedgerOverloadedError,
  LedgerUnavailableError,
} from '@sealgate/ledger-port';
import type { CursorCodec } from '@sealgate/paging';
import { DeclaredLoss, LostEntries } from '@sealgate/schemas';
import { type Static, Type } from '@sinclair/typebox';
import { ADMIN_BODY_MAX_BYTES, adminBase, type AdminCaller, adminRoute, type AuditLedgerChange } from './admin-app.ts';
import { listRoute } from './list-route.ts';

const Text = Type.String();

const Loss = named(
  'ChannelLoss',
  Type.Object({
    channel: Text,
    status: enumOf('LossStatus', ['whole', 'lost', 'declared'], {
      description:
        '`lost`: the channel accepts no records. `declared`: it accepts none yet, and resumes by itself once its next epoch is signed.',
    }),
    problem: orNull(Text),
    lost: Type.Array(LostEntries, { description: 'Oldest log first; empty if the channel is whole.' }),
    foundAt: orNull(instantText()),
    sharedAt: orNull(instantText(), {
      description: 'Time of the last record that is not lost. Later records may be lost.',
    }),
    epoch: Type.Integer({ description: 'Current epoch of the channel; 0 before its first declared loss.' }),
    declaration: orNull(DeclaredLoss, { description: 'Declaration of the newest declared loss.' }),
  }),
);

type FoundLoss = Omit<Static<typeof Loss>, 'lost'> & { readonly lost: readonly Static<typeof LostEntries>[] };

/** Reads and declares the loss of records of a channel. */
export interface LossAdministration {
  size(channel: string): Promise<number | undefined>;
  loss(channel: string): Promise<FoundLoss>;
  /** Of channels after a name that lost records, now or before their current epoch, by name. */
  losses(wanted: { readonly after: string; readonly limit: number }): Promise<readonly FoundLoss[]>;
  /** Resolves to false if `checkpoint` is not the newest one of the lost entries. Idempotent. */
  declareLoss(
    channel: string,
    declared: { reason: string; checkpoint: string; actor: string; requestId: string },
  ): Promise<boolean>;
}

const params = Type.Object({ channel: lineOfText({ min: 1, max: 1024 }) });

const shown = (loss: FoundLoss): Static<typeof Loss> => ({ ...loss, lost: [...loss.lost] });

const lossList = (ledger: LossAdministration, cursors: CursorCodec): Route<AdminCaller> =>
  listRoute({
    path: '/admin/v1/ledger/losses',
    operationId: 'listLosses',
    summary: 'List the channels that lost records, by name: what was found missing, and what was declared',
    errors: ['LEDGER_UNAVAILABLE'],
    name: 'losses',
    boundTo: [],
    rows: ({ limit, after = '' }) => ledgerCall(ledger.losses({ after, limit })),
    positionOf: ({ channel }: FoundLoss) => channel,
    row: Loss,
    rowOf: shown,
    cursors,
  });

interface LossPorts {
  readonly ledger: LossAdministration;
  readonly cursors: CursorCodec;
  readonly auditChange: AuditLedgerChange;
}

/** The routes that show what channels lost and declare a loss. */
export function lossRoutes({ ledger, cursors, auditChange }: LossPorts): Route<AdminCaller>[] {
  const find = async (channel: string) => {
    await knownChannel(ledger, channel);
    return shown(await ledgerCall(ledger.loss(channel)));
  };
  const read = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/ledger/channels/:channel/loss',
    operationId: 'getLoss',
    summary: 'Get whether the channel lost records that checkpoints cover, and which',
    params,
    responses: { 200: { description: 'The loss of the channel.', schema: Loss } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'LEDGER_UNAVAILABLE'],
    handler: async (context) => ({ status: 200, body: await find(context.params.channel) }),
  });
  const declare = adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/ledger/channels/:channel/loss/declare',
    operationId: 'declareLoss',
    summary: 'Declare what the channel lost, so that it continues in its next epoch. It cannot be undone',
    description:
      'Accepted by any process whose DATABASE_URL has a role that may integrate. The integrator signs the epoch, and ' +
      'some seconds later the channel accepts records. Idempotent for the same loss.',
    params,
    body: closedObject({
      reason: { ...lineOfText({ min: 1, max: 1000 }), description: 'The public reason.' },
      checkpoint: Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'The checkpoint of the last entry of `lost`, as read: this confirms that the operator has seen the loss.',
      }),
    }),
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 202: { description: 'The loss is declared.', schema: Loss } },
    errors: ['FORBIDDEN', 'NOT_FOUND', 'INVALID_STATE_TRANSITION', 'PRECONDITION_FAILED', 'LEDGER_UNAVAILABLE'],
    async handler(context) {
      const { channel } = context.params;
      const { reason, checkpoint } = context.body;
      const before = await find(channel);
      const isDeclared = before.declaration?.lost.at(-1)?.checkpoint === checkpoint;
      if (!isDeclared && before.status !== 'lost')
        throw new AppError('INVALID_STATE_TRANSITION', 'The channel has no undeclared loss.');
      if (!isDeclared) {
        if (before.lost.at(-1)?.checkpoint !== checkpoint) throw changed();
        const change = { action: 'channel.declare-loss', resource: 'channel', resourceId: channel, detail: { reason } };
        // Write the audit event first: there must be no declaration without one.
        await auditChange(context, change);
      }
      const { caller, requestId } = context;
      const declared = { reason, checkpoint, actor: caller.actor, requestId };
      if (!(await ledgerCall(ledger.declareLoss(channel, declared), NOT_INTEGRATING))) throw changed();
      return { status: 202, body: await find(channel) };
    },
  });
  return [lossList(ledger, cursors), read, declare];
}

/** The number of records of a channel. @throws AppError NOT_FOUND, and the refusals of `ledgerCall`. */
export async function knownChannel(ledger: Pick<LossAdministration, 'size'>, channel: string): Promise<number> {
  const size = await ledgerCall(ledger.size(channel));
  if (size === undefined) throw noChannel();
  return size;
}

export const noChannel = (): AppError => new AppError('NOT_FOUND', 'There is no such channel.');

const changed = () => new AppError('PRECONDITION_FAILED', 'The loss of the channel has changed: read it again.');

const NOT_INTEGRATING =
  'The role of DATABASE_URL may not integrate: use a process with LEDGER_INTEGRATOR=true on this database.';
const NO_RIGHT = 'The database role of this listener has no access to this channel: see ADMIN_DATABASE_URL.';

/**
 * Maps errors of the ledger to refusals: an unavailable ledger is 503, never "not found"; a missing database privilege
 * is 403 with `forbidden` as detail.
 */
export async function ledgerCall<Value>(answer: Promise<Value>, forbidden = NO_RIGHT): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    throw ledgerRefusal(error, forbidden) ?? error;
  }
}

/** The refusal for an error of the ledger; undefined for a bug. */
export function ledgerRefusal(error: unknown, forbidden = NO_RIGHT): AppError | undefined {
  if (error instanceof ArchiveRefusedError)
    return new AppError('INVALID_STATE_TRANSITION', error.message, { cause: error });
  if (error instanceof LedgerArchivedError) return new AppError('RECORD_ARCHIVED', error.message, { cause: error });
  if (error instanceof LedgerForbiddenError) return new AppError('FORBIDDEN', forbidden, { cause: error });
  if (!(error instanceof LedgerUnavailableError || error instanceof LedgerOverloadedError)) return undefined;
  return new AppError('LEDGER_UNAVAILABLE', error.message, { retryAfterSeconds: 1, cause: error });
}

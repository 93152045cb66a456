import { DECLARATION_TYPE, declarationText, logName, type Declaration, type LostEntries } from '@sealgate/envelope';
import { parseChannel } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import type { Epochs } from './epochs.ts';
import { readHalts } from './halts.ts';

/** Whether a channel lost records, and how it goes on. */
export interface LossState {
  readonly channel: string;
  /** `lost`: it takes no records. `declared`: nor does it yet, and goes on by itself once its next epoch is signed for. */
  readonly status: 'whole' | 'lost' | 'declared';
  /** In a sentence, as health tells it; null where it is whole. */
  readonly problem: string | null;
  /** Of each log that does not go on as it was kept, oldest first. */
  readonly lost: readonly LostEntries[];
  /** When that was found; null where it is whole. */
  readonly foundAt: string | null;
  /** When the last record was written that is not lost; what came later may be. Null where there is none. */
  readonly sharedAt: string | null;
  /** The one it goes on in; 0 before its first declared loss. */
  readonly epoch: number;
  /** Of the newest declared loss. */
  readonly declaration: Declaration | null;
}

export interface LossDeclaration {
  readonly reason: string;
  /** The newest kept checkpoint of what is lost, as `LossState` told it: nobody declares what he has not seen. */
  readonly checkpoint: string;
  readonly actor: string;
  readonly requestId: string;
}

export interface DeclareOptions {
  readonly sql: Sql;
  readonly epochs: Epochs;
  readonly origin: string;
  readonly now: () => number;
}

const WITHIN_MS = 2000;

/** @throws LedgerUnavailableError. */
export async function readLoss(
  { sql, epochs }: Pick<DeclareOptions, 'sql' | 'epochs'>,
  channel: string,
): Promise<LossState> {
  // The halt first: what it says is declared is then among the epochs.
  const halt = (await readHalts(sql)).find((one) => one.channel === channel && one.losses !== undefined);
  await epochs.read();
  const newest = epochs.of(channel).at(-1);
  const time = (atMs: number | undefined) => (atMs === undefined ? null : new Date(atMs).toISOString());
  return {
    channel,
    status: halt === undefined ? 'whole' : halt.isDeclared ? 'declared' : 'lost',
    problem: halt?.problem ?? null,
    lost: halt?.losses ?? [],
    foundAt: time(halt?.atMs),
    sharedAt: time(halt?.sharedAtMs),
    epoch: newest?.epoch ?? 0,
    declaration: newest?.declaration ?? null,
  };
}

/**
 * Says what a channel has lost, so that it goes on in its next epoch: an integrator signs for that within a second, and some
 * seconds later it takes records. Again, for the same loss: nothing happens. False: this is not what is lost, or nothing is.
 *
 * @throws LedgerUnavailableError when it is not known whether it was declared: ask, or declare it again.
 * @throws LedgerForbiddenError where the role of this process may not integrate.
 */
export async function declareLoss(
  options: DeclareOptions,
  channel: string,
  { reason, checkpoint, actor, requestId }: LossDeclaration,
): Promise<boolean> {
  const state = await readLoss(options, channel);
  const ended = state.declaration?.lost.at(-1)?.checkpoint;
  if (ended === checkpoint) return true;
  if (state.status !== 'lost' || state.lost.at(-1)?.checkpoint !== checkpoint) return false;
  const epoch = 1 + Math.max(state.epoch, ...state.lost.map((entries) => entries.epoch));
  const statement = declarationText({
    type: DECLARATION_TYPE,
    network: parseChannel(channel)?.networkId ?? channel,
    channel,
    epoch,
    origin: `${options.origin}/${logName(channel, epoch)}`,
    lost: [...state.lost],
    reason,
    actor,
    at: new Date(options.now()).toISOString(),
  });
  const text = 'SELECT ledger.declare_loss_v1($1, $2, $3, $4) AS epoch';
  const values = [channel, statement, actor, requestId];
  const [row] = await readLedger<{ epoch: number | null }>(options.sql, { text, values }, WITHIN_MS);
  await options.epochs.read();
  return row?.epoch === epoch;
}

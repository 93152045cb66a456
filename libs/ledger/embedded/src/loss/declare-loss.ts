import { DECLARATION_TYPE, declarationText, logName, type Declaration, type LostEntries } from '@sealgate/envelope';
import { parseChannel } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readLedger } from '../database-problem.ts';
import type { Epochs } from '../epochs.ts';
import { readHalts, type Halt } from '../halts.ts';

/** Whether a channel lost records, and whether the loss was declared. */
export interface LossState {
  readonly channel: string;
  /**
   * `lost`: appends are refused. `declared`: still refused, until the next epoch is signed; then the channel resumes.
   */
  readonly status: 'whole' | 'lost' | 'declared';
  /** The sentence that health reports; null if whole. */
  readonly problem: string | null;
  /** Losses of each log that does not continue its kept checkpoints, oldest first. */
  readonly lost: readonly LostEntries[];
  /** When the loss was found; null if whole. */
  readonly foundAt: string | null;
  /** Time of the last record known to survive; later ones may be lost. Null if there is none. */
  readonly sharedAt: string | null;
  /** The current epoch; 0 before the first declared loss. */
  readonly epoch: number;
  /** The newest declaration. */
  readonly declaration: Declaration | null;
}

export interface LossDeclaration {
  readonly reason: string;
  /** The newest kept checkpoint of the lost log, as in `LossState`: proves that the caller has seen the loss. */
  readonly checkpoint: string;
  readonly actor: string;
  readonly requestId: string;
}

interface DeclareOptions {
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
  const halts = await readHaltsAndEpochs({ sql, epochs });
  return stateOf(channel, halts.get(channel), epochs);
}

/** The channels after a name that lost records, now or before their current epoch, by name. @throws as `readLoss` */
export async function readLosses(
  { sql, epochs }: Pick<DeclareOptions, 'sql' | 'epochs'>,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<LossState[]> {
  const halts = await readHaltsAndEpochs({ sql, epochs });
  const channels = [...new Set([...halts.keys(), ...epochs.channels])].filter((channel) => channel > after);
  return channels
    .toSorted()
    .slice(0, limit)
    .map((channel) => stateOf(channel, halts.get(channel), epochs));
}

/** The halts of channels that lost records. */
async function readHaltsAndEpochs({ sql, epochs }: Pick<DeclareOptions, 'sql' | 'epochs'>): Promise<Map<string, Halt>> {
  // Read the halts before the epochs: a declared loss is then among them.
  const halts = await readHalts(sql);
  await epochs.read();
  return new Map(halts.filter(({ losses }) => losses !== undefined).map((halt) => [halt.channel, halt]));
}

function stateOf(channel: string, halt: Halt | undefined, epochs: Epochs): LossState {
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
 * Declares a channel's loss, so that it continues in its next epoch: an integrator signs that within a second, and some
 * seconds later the channel accepts records. Repeating it for the same loss has no effect. False: nothing is lost, or
 * not this.
 *
 * @throws LedgerUnavailableError when the outcome is unknown: read the state, or declare it again.
 * @throws LedgerForbiddenError if the role of this process may not integrate.
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
  const text = 'SELECT ledger.declare_loss($1, $2, $3, $4) AS epoch';
  const values = [channel, statement, actor, requestId];
  const [row] = await readLedger<{ epoch: number | null }>(options.sql, { text, values }, WITHIN_MS);
  await options.epochs.read();
  return row?.epoch === epoch;
}

import { openDatabase, type Database, type DatabaseOptions } from './database.ts';
import type { Looking } from './looking.ts';

/**
 * The three pools of a process on one database. Each has connections, a queue and deadlines of its own, so that nothing
 * in one waits for what is in another.
 */
export interface Pools {
  /** Writes, keys, checks, and reads of one row by its id. */
  readonly decide: Database;
  /** Lists, aggregates, search, exports, the public log, reads of operators, tools. */
  readonly look: Database;
  /** Work that no request waits for: the integrator, the outbox, retention. */
  readonly background: Database;
}

/**
 * How `total` connections are divided: a quarter looks, a sixth works in the background, the rest decides. Of twelve
 * that is 7, 3 and 2.
 */
export function poolSizes(total: number): Readonly<Record<keyof Pools, number>> {
  const look = Math.max(1, Math.floor(total / 4));
  const background = Math.max(1, Math.floor(total / 6));
  return { decide: Math.max(1, total - look - background), look, background };
}

const DEADLINE_MS = 2_000;
/** A statement that looks ends after this time, on the server. */
const LOOK_STATEMENT_MS = 1_000;
/** With the wait for a connection. */
const LOOK_DEADLINE_MS = 1_500;

/** Opens a pool of those who look; see `openDatabase`. */
export const openLookPool = (
  options: Omit<DatabaseOptions, 'deadlineMs' | 'looking'>,
  yields?: Looking['yields'],
): Database =>
  openDatabase({
    ...options,
    deadlineMs: LOOK_DEADLINE_MS,
    looking: { statementTimeoutMs: LOOK_STATEMENT_MS, yields },
  });

/** Opens the pools; see `openDatabase`. */
export function openPools({
  maxConnections,
  applicationName,
  yields,
  ...options
}: Omit<DatabaseOptions, 'deadlineMs' | 'looking'> & Pick<Looking, 'yields'>): Pools & { close(): Promise<void> } {
  const sizes = poolSizes(maxConnections);
  const decide = openDatabase({
    ...options,
    applicationName,
    maxConnections: sizes.decide,
    deadlineMs: DEADLINE_MS,
  });
  // Each of them would tell the same news once more.
  const { onPooler: _told, onDisk: _tells, ...further } = { ...options, timelines: decide.timelines };
  const look = openLookPool(
    { ...further, applicationName: `${applicationName} look`, maxConnections: sizes.look },
    yields,
  );
  const background = openDatabase({
    ...further,
    applicationName: `${applicationName} background`,
    maxConnections: sizes.background,
    deadlineMs: DEADLINE_MS,
  });
  return {
    decide,
    look,
    background,
    close: async () => {
      await Promise.all([decide.close(), look.close(), background.close()]);
    },
  };
}

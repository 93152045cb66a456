import type { OpenRecordsLedgerOptions } from '@sealgate/ledger-fabric';
import type { LedgerAppender, LedgerHealth, LedgerReader } from '@sealgate/ledger-port';
import { cachedCheck, openedOrStartError } from '@sealgate/service-host';
import type { GateConfig } from './config.ts';
import { SCHEMA } from './gate-migrations.ts';

/** The ledger that takes the seals of cases, as LEDGER_DRIVER names it. */
export interface SealLedger extends Pick<LedgerAppender, 'append'>, Pick<LedgerReader, 'prove'> {
  /** Whether seals are in the embedded log, where each can be proved and looked up by SQL. */
  readonly isLog: boolean;
  /** What is wrong with it, or null; ends within half a second. */
  problem(): Promise<string | null>;
}

/** Less than the request that begins a seal has it to itself. */
const ANSWER_WITHIN_MS = 3000;
const HEALTH = { deadlineMs: 500, keepMs: 900 };

/**
 * Seals on a Fabric network. Versions of subjects, keys, venues and policies stay in the embedded log: the gate looks them
 * up in the statement and the transaction that use them.
 *
 * @throws StartError naming what is wrong with the connection file, or that it holds no place for LEDGER_CHANNEL.
 */
export async function openFabricSeals(
  options: Omit<OpenRecordsLedgerOptions, 'config' | 'schema'> & { readonly config: GateConfig },
): Promise<SealLedger> {
  const { GatewayNotOpenedError, openRecordsLedger } = await import('@sealgate/ledger-fabric');
  const needs = [options.config.ledgerChannel];
  const ledger = await openedOrStartError(GatewayNotOpenedError, async () =>
    openRecordsLedger({ ...options, needs, schema: SCHEMA, answerWithinMs: ANSWER_WITHIN_MS }),
  );
  const otherwise: LedgerHealth = { ok: false, problem: 'the Fabric network does not answer in time' };
  const health = cachedCheck({ ...HEALTH, check: () => ledger.health(), otherwise, now: options.now });
  return {
    append: (unit) => ledger.append(unit),
    prove: (channel, id) => ledger.prove(channel, id),
    isLog: false,
    problem: async () => (await health()).problem,
  };
}

import type { NoteVerifier } from '@sealgate/merkle';
import type { Log } from '@sealgate/observability';
import { backgroundLoop, reasonOf, type Database } from '@sealgate/storage';
import { WITNESS_OUTCOMES } from './ask-witness.ts';
import { checkedCheckpoints } from './checked-checkpoint.ts';
import { isOutage } from './database-problem.ts';
import type { OpenLedgerOptions } from './open-embedded-ledger.ts';
import { Witnessing } from './witnessing.ts';

const WITNESS_WAIT_MS = 5000;
const WITNESS_WITHIN_MS = 10_000;
const REST_MS = 500;
const LOOK_AGAIN_EVERY_MS = 5000;

/** Undefined where this process does not integrate, or no witness is configured. */
export function openWitnessing(
  { config, sql, now, log, metrics }: Pick<OpenLedgerOptions, 'config' | 'sql' | 'now' | 'log' | 'metrics'>,
  verifier: NoteVerifier | undefined,
): Witnessing | undefined {
  const { checkpointDir, ledgerWitnesses: policy, ledgerWitnessWaitMs: waitMs = WITNESS_WAIT_MS } = config;
  if (!config.ledgerIntegrator || checkpointDir === undefined || policy === undefined) return undefined;
  const answers = metrics.counter({
    name: 'ledger_witness_answers_total',
    help: 'Checkpoints that a witness was asked to cosign, by what it answered.',
    labels: { witness: policy.witnesses.map(({ name }) => name), outcome: WITNESS_OUTCOMES },
  });
  const witnessing = new Witnessing({
    ...{ sql, policy, waitMs, log, now, restMs: REST_MS, answerWithinMs: WITNESS_WITHIN_MS },
    checked: checkedCheckpoints(config.ledgerOrigin, verifier),
    onAnswer: (witness, outcome) => answers.child({ witness, outcome }).inc(),
  });
  metrics.gauge({
    name: 'ledger_uncosigned_logs',
    aggregator: 'max',
    help: 'Logs that are shown by a checkpoint with fewer cosignatures than the policy asks for.',
    labels: {},
    collect: (gauge) => gauge.set({}, witnessing.short),
  });
  return witnessing;
}

/** With witnesses, what is published is shown; without, what is signed. */
export async function publishing(sql: Database, witnessing: Witnessing | undefined): Promise<void> {
  if (witnessing !== undefined) return witnessing.begin();
  await sql.query({ text: 'SELECT ledger.publish_signed_v1()' });
}

/** Asks again about what is not published or short, until it is let go of. */
export function keepCosigning(witnessing: Witnessing, log: Log): () => Promise<void> {
  const loop = backgroundLoop({
    work: () => witnessing.lookAgain(),
    pauseMs: LOOK_AGAIN_EVERY_MS,
    // Readiness tells of a database that is away.
    onFailure: (error) => isOutage(error) || log.warn('witnesses_failed', { reason: reasonOf(error) }),
  });
  return async () => {
    await loop.stop();
    await witnessing.stop();
  };
}

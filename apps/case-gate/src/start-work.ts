import { removalStep } from '@sealgate/storage';
import { drainOutbox, expireCases, keepProofs, oldRows } from './data/background.ts';
import { keepProof } from './data/case-reads.ts';
import { lossProgress } from './data/loss-progress.ts';
import { remakeMacs } from './data/remake-macs.ts';
import { lossReview } from './data/review-losses.ts';
import type { Basics, Parts } from './parts.ts';

const OUTBOX_EVERY_MS = 250;
const PROOFS_EVERY_MS = 1000;
const EXPIRY_EVERY_MS = 60_000;
const REMADE_EVERY_MS = 3_600_000;
const REMAKE_EVERY_MS = 10_000;
const LOSSES_EVERY_MS = 400;
const LOSS_REVIEW_EVERY_MS = 1000;
const LOSS_REVIEW_PAGE_ROWS = 100;
const HEADS_EVERY_MS = 60_000;

/** Starts the background jobs. */
export function startWork(basics: Basics, parts: Parts) {
  const { config, now } = basics;
  const { background: sql, ledger, sealLedger, inTransaction, eligibility, target, onConflict, repeat, retain } = parts;
  const outbox = { ...eligibility, sql, inTransaction, target, onConflict };
  const proofs = {
    ledger: sealLedger,
    channel: target.channel,
    keepProof: (id: string, proof: string) => keepProof(sql, id, proof),
  };
  const begin = (name: string, everyMs: number, work: () => Promise<unknown>, firstAfterMs = everyMs) =>
    repeat({ name, everyMs, firstAfterMs, work });
  begin('proofs', PROOFS_EVERY_MS, () => keepProofs(sql, proofs));
  begin('expiry', EXPIRY_EVERY_MS, () => expireCases({ sql, inTransaction, now }));
  const old = (rows: 'claims' | 'counts' | 'decisions') =>
    removalStep(sql, () => oldRows(now(), config.decisionRetentionDays)[rows]);
  retain({ claims: old('claims'), counts: old('counts'), decisions: old('decisions') });
  begin('outbox', OUTBOX_EVERY_MS, () => drainOutbox({ ...outbox, ledger }, 'versions'));
  begin('seals', OUTBOX_EVERY_MS, () => drainOutbox({ ...outbox, ledger: sealLedger }, 'seals'));
  begin('remake', REMAKE_EVERY_MS, remaking(basics, parts));
  begin('losses', LOSSES_EVERY_MS, parts.losses.refresh);
  begin('decision_heads', HEADS_EVERY_MS, parts.decisions.seal);
  begin('loss_review', LOSS_REVIEW_EVERY_MS, reviewing(basics, parts));
  return { proofs };
}

/**
 * Replaces MACs made by a former server secret, once all processes use the new one. Idle for an hour once none is left.
 */
function remaking({ config, now, log, counters }: Basics, parts: Parts): () => Promise<void> {
  const { secretWatch, eligibility } = parts;
  const remade = {
    ...parts,
    sql: parts.background,
    decisionMacs: eligibility.decisionMacs,
    secretIds: config.serverSecrets.ids,
    mayContinue: () => secretWatch.isSettled(),
    onRefused: (what: string, error: unknown) => {
      counters.corrupt();
      log.error('row_not_remade', { what, reason: String(error) });
    },
  };
  let restsUntilMs = -Infinity;
  return async () => {
    if (now() < restsUntilMs) return;
    const { remade: count, isDone } = await remakeMacs(remade);
    if (count > 0) log.info('macs_remade', { count, isDone });
    if (isDone && count === 0) restsUntilMs = now() + REMADE_EVERY_MS;
  };
}

/** Reviews rows after a declared loss of ledger records. */
function reviewing({ now, newId, log, counters }: Basics, parts: Parts): () => Promise<void> {
  return lossReview({
    ...parts,
    sealsAreInLog: parts.sealLedger.isLog,
    losses: parts.losses.current,
    progress: lossProgress(parts.sql, newId('wrk_')),
    pageRows: LOSS_REVIEW_PAGE_ROWS,
    now,
    onRefused: (what: string, error: unknown) => {
      counters.corrupt();
      log.error('row_not_reviewed', { what, reason: String(error) });
    },
    log,
  });
}

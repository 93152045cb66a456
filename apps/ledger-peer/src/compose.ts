import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { jwkOfPoint, type Jwks, jwksOf } from '@sealgate/envelope';
import type { App } from '@sealgate/http';
import { InFlight } from '@sealgate/idempotency';
import type { LedgerHealth } from '@sealgate/ledger-port';
import { noteSigner, parseVerifierKey } from '@sealgate/merkle';
import { cursorCodec } from '@sealgate/paging';
import {
  cachedCheck,
  type Composition,
  type HostChecks,
  type Own,
  StartError,
  WAITS_FOR_REDIS,
} from '@sealgate/service-host';
import { mapOutages, startTimer } from '@sealgate/storage';
import { administration, publicApp } from './app.ts';
import { waitingJobs } from './data/jobs-store.ts';
import { answerSync } from './domain/answer-sync.ts';
import { isScraper } from './metrics-access.ts';
import { publicDescription } from './openapi.ts';
import { type Basics, CHECK_WITHIN_MS, LOOK_WITHIN_MS, openParts, type Parts, planning } from './parts.ts';
import { answerMetrics } from './peer-metrics.ts';

/** Opens all resources and creates both listeners. */
export async function compose(basics: Basics, own: Own, host: HostChecks): Promise<Composition> {
  const parts = await openParts(basics, own);
  const checks = checksOf(basics, parts);
  return {
    publicApp: publicAppOf(basics, parts, { host, own: checks }),
    adminApp: adminAppOf(basics, parts),
    async ready() {
      const [fault, credentials, health] = await Promise.all([
        checks.database(),
        checks.credentials(),
        checks.ledger(),
      ]);
      const { ok, problem, contracts } = health;
      // If the database is down, the error of the ledger in it would only repeat that.
      const told = fault === undefined ? [...credentials.problems, problem] : [fault, ...credentials.problems];
      const reasons = new Set(told.filter((reason) => reason !== null));
      const redisProblem = parts.redisProblem();
      if (!parts.limits.isSettled) reasons.add(WAITS_FOR_REDIS);
      // It works without Redis, so it stays ready.
      else if (redisProblem !== undefined) reasons.add(redisProblem);
      const isReady = ok && credentials.ok && fault === undefined && parts.limits.isSettled;
      const listed = contracts === undefined ? {} : { contracts };
      return {
        ok: isReady,
        // A healthy ledger may still report a problem: a halted channel.
        body: {
          status: isReady ? 'healthy' : 'unhealthy',
          ...(reasons.size === 0 ? {} : { reason: [...reasons].join('; ') }),
          ...listed,
        },
      };
    },
    async startup() {
      const { ok, problems } = await checks.credentials();
      return { ok, body: ok ? { status: 'healthy' } : { status: 'unhealthy', reason: problems.join('; ') } };
    },
  };
}

const KEEP_CHECK_MS = 900;

function checksOf({ now }: Basics, { ledger, database }: Parts) {
  const options = { deadlineMs: CHECK_WITHIN_MS, keepMs: KEEP_CHECK_MS, now };
  return {
    database: cachedCheck({
      ...options,
      check: () => database.problem(),
      otherwise: 'the database does not answer in time',
    }),
    ledger: cachedCheck<LedgerHealth>({
      ...options,
      check: () => ledger.health(),
      otherwise: { ok: false, problem: 'the ledger does not answer in time' },
    }),
    credentials: cachedCheck({
      ...options,
      check: () => ledger.credentials(),
      otherwise: { ok: false, problems: ['the credentials could not be checked in time'] },
    }),
  };
}

type Checks = ReturnType<typeof checksOf>;

function publicAppOf(
  basics: Basics,
  { limits, addresses, ledger, jobs, bodyTurns, eventStreams }: Parts,
  { host, own }: { host: HostChecks; own: Checks },
) {
  const { config, now, newId, log, metrics, appBase } = basics;
  const jwks = logKeys(config);
  if (jwks.keys.length === 0 && config.ledgerDriver === 'embedded')
    log.warn('no_log_keys', { reason: 'Without LEDGER_VERIFIER_KEYS this process publishes no key of the log.' });
  const { ratePerSecond, rateBurst: burst, serverSecrets, bodyMaxBytes, answerWithinMs, mappings } = config;
  const guard = {
    keys: config.apiKeys,
    signers: ledger.signers,
    limits,
    addresses,
    rate: { ratePerSecond, burst },
    now,
    log: {
      rate: { ratePerSecond: config.logRatePerSecond, burst: config.logRateBurst },
      isOpen: (channel: string) => config.publicLog.has(channel),
    },
  };
  const answer = answerSync({
    ...planning(config),
    ledger: ledger.assets,
    jobs,
    inFlight: new InFlight(),
    fingerprints: serverSecrets.derive('peer fingerprints'),
    newJobId: () => newId('job_'),
    now,
    pause: (ms) => delay(ms),
    answerWithinMs,
    onAnswer: answerMetrics(metrics),
  });
  const cursors = cursorCodec({
    hasher: serverSecrets.derive('peer cursors'),
    now,
    maxBytes: CURSOR_MAX_BYTES,
    sentIn: 'body',
  });
  return publicApp({ ...appBase, bodyTurns }, guard, {
    assets: {
      answerSync: answer,
      reading: { ledger: ledger.assets, mappings, log: ledger.log, cursors },
      bodyMaxBytes,
      nextTurn: () => nextTurn(),
    },
    transactions: { findTransaction: ledger.findTransaction, mappings },
    jobs: { jobs },
    events: {
      streams: eventStreams,
      startTimer,
      isLive: ({ keyDigits = '' }) =>
        config.apiKeys.size === 0 || config.apiKeys.ids.some((digits) => keyDigits.startsWith(digits)),
    },
    publicLog: {
      log: ledger.log,
      mappings,
      isOpen: (channel) => config.apiKeys.size === 0 || config.publicLog.has(channel),
      published: config.publicLog,
      showsEntries: (channel) => config.publicLog.has(channel) || mappings.servesAll(channel),
    },
    health: {
      ...host,
      metrics,
      checkTimeoutMs: LOOK_WITHIN_MS,
      credentials: own.credentials,
      isScraper: (request) => isScraper(request, config.metricsAllow),
    },
    descriptions: { describe: () => publicDescription(config.publicUrl), jwks },
  });
}

/** Fits an id of 256 code points, escaped and in base64. */
const CURSOR_MAX_BYTES = 4096;

function adminAppOf({ config, now, newId, appBase }: Basics, parts: Parts): App {
  const { look, ledger, secretWatch, adminAccess, audit, auditChange } = parts;
  const administered = ledger.administration;
  const auditOf = (...told: Parameters<typeof auditChange>) => mapOutages(() => auditChange(...told));
  const cursors = cursorCodec({ hasher: config.serverSecrets.derive('peer admin cursors'), now });
  const state = {
    cursors,
    now,
    auditSigning: parts.auditSigning,
    listAudit: (query: Parameters<typeof audit.list>[1]) => mapOutages(() => audit.list(look, query)),
    countAudit: (query: Parameters<typeof audit.count>[1]) => mapOutages(() => audit.count(look, query)),
    actorNames: (actors: readonly string[]) => mapOutages(() => parts.actorNames(actors)),
    secretReport: () => secretWatch.report(),
    waiting: () => Promise.all([waitingJobs(look), ledger.waiting()]),
  };
  const rules = { driver: config.ledgerDriver, defaultChannel: config.ledgerChannel };
  const mapping =
    config.ledgerDriver === 'fabric' ? { ledger: ledger.assets, signers: ledger.signers, rules, now } : undefined;
  const { readTrust, blocks, findTransaction } = ledger;
  const { mappings } = config;
  const trust = readTrust === undefined ? undefined : { readTrust, mappings };
  const isOnFabric = blocks !== undefined && findTransaction !== undefined;
  const fabric = { explorer: isOnFabric ? { blocks, findTransaction, mappings, now } : undefined, cursors };
  const subscriptions = { ...parts.subscriptions, auditChange: auditOf, cursors };
  const always = { mapping, trust, fabric, subscriptions, ...state };
  if (administered === undefined) return administration(appBase, adminAccess, { ledger: undefined, ...always });
  const administering = {
    ledger: administered,
    cursors,
    auditChange: auditOf,
    now,
    newId,
  };
  return administration(appBase, adminAccess, { ledger: administering, ...always });
}

/**
 * The public keys of checkpoints as JWKs: those this process signs with, and the configured ones.
 * @throws StartError if a configured key is invalid.
 */
function logKeys(config: {
  readonly ledgerSigningKey: string | undefined;
  readonly ledgerVerifierKeys: readonly string[];
}): Jwks {
  const own = config.ledgerSigningKey === undefined ? [] : noteSigner(config.ledgerSigningKey).verifierKeys;
  try {
    return jwksOf(
      [...new Set([...own, ...config.ledgerVerifierKeys])].map((key) =>
        jwkOfPoint(parseVerifierKey(key).point.toString('base64url')),
      ),
    );
  } catch (cause) {
    throw new StartError('LEDGER_VERIFIER_KEYS contains an invalid C2SP verifier key.', { cause });
  }
}

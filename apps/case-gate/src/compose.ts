import { setImmediate as nextTurn } from 'node:timers/promises';
import { jwksOf } from '@sealgate/envelope';
import type { App } from '@sealgate/http';
import { InFlight } from '@sealgate/idempotency';
import { cursorCodec } from '@sealgate/paging';
import { readiness, type Composition, type Own } from '@sealgate/service-host';
import { administration, publicApp, type GateAppBase } from './app.ts';
import type { GateConfig } from './config.ts';
import {
  readCase,
  readCaseFile,
  caseList,
  countCases,
  countEvents,
  lastDecided,
  listEvents,
} from './data/case-reads.ts';
import { decisionsStore } from './data/decisions-store.ts';
import {
  readEligibility,
  readHistory,
  readUnconfirmed,
  countHistory,
  countUnconfirmed,
  subjectList,
} from './data/eligibility-store.ts';
import { canLookUp } from './data/caller-lookups.ts';
import { waitingWork } from './data/background.ts';
import { keyLabels } from './data/keys-store.ts';
import type { RecordsPorts } from './routes/records.ts';
import { publicDescription } from './openapi.ts';
import { openParts, type Basics, type Parts as Opened } from './parts.ts';
import { startWork } from './start-work.ts';

type Parts = Opened & { readonly worker: ReturnType<typeof startWork> };

/** Opens all resources and creates the listeners. */
export async function compose(basics: Basics, own: Own): Promise<Composition> {
  const opened = await openParts(basics, own);
  const parts = { ...opened, worker: startWork(basics, opened) };
  const base: GateAppBase = { ...basics.appBase, isReachable: parts.isReachable };
  return {
    // A door does not wait for a schema to be compiled.
    publicApp: publicAppOf(basics, parts, { ...base, compileSchemas: 'at-start' }),
    adminApp: adminAppOf(basics, parts, base),
    ready: readiness({
      ...databaseAndLedger(parts),
      limits: parts.limits,
      redisProblem: () => parts.redisProblem(),
      connections: { ...parts.connections, gate: basics.config.gateDatabasePoolSize },
      otherwise: NO_ANSWER,
      deadlineMs: 850,
      now: basics.now,
    }),
  };
}

function publicAppOf(basics: Basics, parts: Parts, base: GateAppBase): App {
  const { config, now, counters } = basics;
  const { sql, decisions, macs, versions } = parts;
  const guard = {
    gateLookups: parts.gateLookups,
    apiLookups: parts.apiLookups,
    strangerLookups: parts.strangerLookups,
    lastUsed: parts.lastUsed,
    limits: parts.limits,
    addresses: parts.addresses,
    policies: {
      api: { ratePerSecond: config.ratePerSecond, burst: config.rateBurst },
      gate: { ratePerSecond: config.gateRatePerSecond, burst: config.gateRateBurst },
    },
    gateDeadlineMs: config.gateDeadlineMs,
    now,
  };
  const description = JSON.stringify(publicDescription(config));
  return publicApp(base, guard, {
    ...casePorts(basics, parts),
    readEligibility: (environment, subjectRef) =>
      readEligibility(sql, { macs: macs.eligibility, versions }, { environment, subjectRef }),
    nextDecision: decisions.nextDecision,
    decided: counters.decided,
    record: decisions.record,
    deadlineMs: config.gateDeadlineMs,
    publicUrl: publicUrlOf(config),
    healthRequiresKey: config.healthRequiresKey,
    openApiText: () => description,
    jwks: jwksOf([config.documentSigner.jwk, ...config.retiredKeys]),
  });
}

/** Case ports of both listeners. */
function casePorts({ config, now, newId }: Basics, parts: Parts) {
  const { sql, look, sealLedger, inTransaction, eligibility, worker, audit, target, onConflict } = parts;
  const auditExport: RecordsPorts['auditExport'] = ({ caseId, actor, requestId, packHash }) =>
    audit.record(sql, {
      actor,
      action: 'case.export',
      resource: 'case',
      resourceId: caseId,
      requestId,
      detail: { pack_hash: packHash },
    });
  return {
    ...eligibility,
    now,
    newId,
    inTransaction,
    caseTtlDays: config.caseTtlDays,
    readCase: (environment: string, caseId: string) => readCase(sql, environment, caseId),
    inFlight: new InFlight<{ readonly body: string; readonly replayed: boolean }>(),
    fingerprints: config.serverSecrets.derive('gate fingerprints'),
    ledger: sealLedger,
    target,
    onConflict,
    readCaseFile: (environment: string, caseId: string) => readCaseFile(look, environment, caseId),
    channel: target.channel,
    keepProof: worker.proofs.keepProof,
    signer: config.documentSigner,
    auditExport,
    venues: parts.venues,
  };
}

function publicUrlOf({ publicUrl, host, port, tlsCertFile }: GateConfig): string {
  const made = `${tlsCertFile === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return publicUrl ?? made;
}

function adminAppOf(basics: Basics, parts: Parts, base: GateAppBase): App {
  const { config, now } = basics;
  const { look, macs, versions, audit, auditChange, adminAccess, inTransaction, inSql } = parts;
  return administration(base, adminAccess, {
    ...casePorts(basics, parts),
    cases: caseList(look),
    countCases: (environment) => countCases(look, environment),
    countEvents: (caseId) => countEvents(look, caseId),
    listEvents: (caseId, page) => listEvents(look, caseId, page),
    lastDecided: (environment, limit) => lastDecided(look, environment, limit),
    nextTurn: () => nextTurn(),
    cursors: cursorCodec({ hasher: config.serverSecrets.derive('gate cursors'), now }),
    inSql,
    auditChange,
    inAuditedTransaction: (context, { action, subjectRef, environment, reason, recordVersion }, work) =>
      inTransaction(async (cases, transaction) => {
        const result = await work(cases);
        const named = recordVersion === undefined ? {} : { record_version: String(recordVersion) };
        const detail = { environment, reason, ...named };
        const change = { action, resource: 'subject', resourceId: subjectRef, detail };
        await auditChange(context, change, transaction);
        return result;
      }),
    keys: parts.keys,
    venues: parts.venues,
    policies: parts.policies,
    readEligibility: (environment, subjectRef) =>
      readEligibility(look, { macs: macs.eligibility, versions }, { environment, subjectRef }),
    readUnconfirmed: (environment, page) => readUnconfirmed(look, macs.eligibility, { environment, ...page }),
    readHistory: (id, page) => readHistory(look, id, page),
    decisions: decisionsStore(look),
    embedded: parts.ledger,
    listAudit: (query) => audit.list(look, query),
    countAudit: (query) => audit.count(look, query),
    subjects: subjectList(look, macs.eligibility),
    countUnconfirmed: (environment) => countUnconfirmed(look, environment),
    countHistory: (id) => countHistory(look, id),
    actorNames: async (actors) => ({ ...(await parts.actorNames(actors)), ...(await keyLabels(look, actors)) }),
    auditSigning: parts.auditSigning,
    spelling: 'snake_case',
    secretReport: () => parts.secretWatch.report(),
    waiting: () => waitingWork(look),
  });
}

const NO_ANSWER = 'the database does not answer';

/** Readiness checks: the database, the gate's own pool, and the ledgers. Each ends within a second. */
function databaseAndLedger({ database, gateSql, gateLookups, ledger, sealLedger }: Parts) {
  const warmUp = warming(() => gateLookups.find(NO_KEY, [{ subjectRef: '', venueId: '' }], LOOKUP_WITHIN_MS));
  return {
    async database() {
      const [fault, gateIsUp] = await Promise.all([database.problem(), canLookUp(gateSql, 500)]);
      if (fault !== undefined || !gateIsUp) return fault ?? NO_ANSWER;
      await warmUp();
      return undefined;
    },
    async ledger() {
      const [{ ok, problem }, sealProblem] = await Promise.all([ledger.health(), sealLedger.problem()]);
      // With a halted channel or an unreachable Fabric network seals wait in the outbox; the gate does not need it.
      return { ok, problem: problem ?? sealProblem };
    },
  };
}

/** The hash of no key. */
const NO_KEY = Buffer.alloc(32);
/** A look-up that takes no longer leaves a door most of its time. */
const WARM_MS = 100;
const LOOKUP_WITHIN_MS = 2000;
const MOST_LOOKUPS = 20;

/**
 * Resolves once the gate is warm: the first look-ups prepare their plans beside everything else that a start does, and on
 * a slow machine that takes longer than a door waits. So a gate is ready once a look-up was quick, whatever came of it
 * (that of a halted channel is refused), or twenty were not.
 */
function warming(lookUp: () => Promise<unknown>): () => Promise<void> {
  let isWarm = false;
  return async () => {
    for (let lookups = 0; !isWarm; lookups += 1) {
      const startedMs = performance.now();
      await lookUp().catch(() => undefined);
      isWarm ||= performance.now() - startedMs <= WARM_MS || lookups >= MOST_LOOKUPS;
    }
  };
}

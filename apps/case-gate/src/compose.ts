import { setImmediate as nextTurn } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import { auditChange } from '@sealgate/audit';
import { jwksOf } from '@sealgate/envelope';
import type { App } from '@sealgate/http';
import { accessTokens, adminPeople } from '@sealgate/identity';
import { InFlight } from '@sealgate/idempotency';
import { httpMetrics } from '@sealgate/observability';
import { cursorCodec } from '@sealgate/paging';
import { addressLimiter } from '@sealgate/rate-limits';
import { cachedCheck, type Composition, type Own, type ServiceHealth } from '@sealgate/service-host';
import { isReachable } from '@sealgate/storage';
import { administration, publicApp, type AppBase } from './app.ts';
import type { GateConfig } from './config.ts';
import { countCases, lastDecided, listCases, listEvents } from './data/case-lists.ts';
import { readCase, readCaseFile } from './data/case-reads.ts';
import { decisionsStore } from './data/decisions-store.ts';
import { readEligibility, readHistory, readUnconfirmed } from './data/eligibility-store.ts';
import { canLookUp } from './data/gate-readiness.ts';
import { environmentOfKey, mintSignedKey, revokeSignedKey } from './data/keys-store.ts';
import { insertPolicy, lockPolicy, policiesStore, savePolicy } from './data/policies-store.ts';
import { insertVenue, lockVenue, saveVenue, venuesStore } from './data/venues-store.ts';
import { waitingWork } from './data/waiting-work.ts';
import { SCHEMA } from './gate-migrations.ts';
import { PrismaClient } from './generated/prisma/client.ts';
import type { RecordsPorts } from './routes/records.ts';
import { openParts, startTimer, type Basics, type Parts } from './open-parts.ts';
import { publicDescription } from './openapi.ts';

/** Opens everything that the surface stands on, and makes its listeners of it. */
export async function composeGate(basics: Basics, own: Own): Promise<Composition> {
  const parts = await openParts(basics, own);
  const base = appBaseOf(basics, parts);
  const check = () => readiness(parts);
  const otherwise = notReady(NO_ANSWER);
  const look = cachedCheck({ check, otherwise, deadlineMs: 850, keepMs: 900, now: basics.now });
  const ready = async (): Promise<ServiceHealth> => {
    const health = await look();
    // Who decides limits is known here, and told as it is now.
    return health.ok ? { ok: true, body: { ...health.body, limits: parts.shared.limits.state } } : health;
  };
  return { publicApp: publicAppOf(basics, parts, base), adminApp: adminAppOf(basics, parts, base), ready };
}

function appBaseOf({ config, now, newId, log, metrics }: Basics, { sql }: Parts): AppBase {
  const { trustProxy, tlsTerminatedUpstream } = config;
  const meters = httpMetrics(metrics);
  const newRequestId = () => newId('req_');
  const base = { log, metrics: meters, now, newRequestId, trustProxy, tlsTerminatedUpstream };
  return { ...base, isReachable: () => isReachable(sql, 500) };
}

function publicAppOf(basics: Basics, parts: Parts, base: AppBase): App {
  const { config, now, counters } = basics;
  const { sql, decisions, macs, versions } = parts;
  const guard = {
    gateLookups: parts.gateLookups,
    apiLookups: parts.apiLookups,
    touchKey: (keyId: string) => parts.lastUsed.touch(keyId),
    limits: parts.shared.limits,
    addresses: addressLimiter({ limits: parts.shared.limits, listener: 'gate', now }),
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
    record: (decision, asker) => {
      counters.decided(decision);
      decisions.record(decision, asker);
    },
    deadlineMs: config.gateDeadlineMs,
    publicUrl: publicUrlOf(config),
    healthRequiresKey: config.healthRequiresKey,
    openApiText: () => description,
    jwks: jwksOf([config.documentSigner.jwk, ...config.retiredKeys]),
  });
}

/** What both listeners do with cases. */
function casePorts({ config, now, newId }: Basics, parts: Parts) {
  const { sql, sealLedger, inTransaction, eligibility, worker, audit, target, onConflict } = parts;
  const auditExport: RecordsPorts['auditExport'] = ({ caseId, actor, requestId, packHash }) =>
    audit.record(sql, {
      ...{ actor, action: 'case.export', resource: 'case', resourceId: caseId, requestId },
      detail: { pack_hash: packHash },
    });
  return {
    ...eligibility,
    now: () => Math.floor(now()),
    newId,
    inTransaction,
    caseTtlDays: config.caseTtlDays,
    readCase: (environment: string, caseId: string) => readCase(sql, environment, caseId),
    inFlight: new InFlight<{ readonly body: string; readonly replayed: boolean }>({ startTimer }),
    fingerprints: config.serverSecrets.derive('gate fingerprints'),
    ledger: sealLedger,
    target,
    onConflict,
    readCaseFile: (environment: string, caseId: string) => readCaseFile(sql, environment, caseId),
    channel: target.channel,
    keepProof: worker.proofs.keepProof,
    signer: config.documentSigner,
    auditExport,
  };
}

function publicUrlOf({ publicUrl, host, port, tlsCertFile }: GateConfig): string {
  const made = `${tlsCertFile === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return publicUrl ?? made;
}

function adminAppOf(basics: Basics, parts: Parts, base: AppBase): App {
  const { config, now, log } = basics;
  const { sql, macs, versions, keys, audit, inTransaction, inSql } = parts;
  const prisma = new PrismaClient({ adapter: new PrismaPg(sql.pool, { schema: SCHEMA }) });
  const wholeMs = () => Math.floor(now());
  const access = {
    tokens: config.adminTokenHashes,
    findPerson: adminPeople(accessTokens({ issuers: config.oidcIssuers, now, log }), config.adminOidc),
    addresses: addressLimiter({ limits: parts.shared.limits, listener: 'gate-admin', now }),
  };
  const recordChange = auditChange(audit, sql);
  const keyParts = { keys, macs: macs.keys, versions, now: wholeMs };
  const venueParts = { macs: macs.venues, versions };
  const policyParts = { macs: macs.policies, versions };
  return administration(base, access, {
    ...casePorts(basics, parts),
    listCases: (filter, page) => listCases(sql, filter, page),
    countCases: (environment) => countCases(sql, environment),
    listEvents: (caseId, page) => listEvents(sql, caseId, page),
    lastDecided: (environment, limit) => lastDecided(sql, environment, limit),
    nextTurn: () => nextTurn(),
    cursors: cursorCodec({ hasher: config.serverSecrets.derive('gate cursors'), now: wholeMs }),
    inSql: (work) => inSql(work),
    auditChange: recordChange,
    inAuditedTransaction: (context, { action, subjectRef, environment, reason, recordVersion }, work) =>
      inTransaction(async (cases, transaction) => {
        const result = await work(cases);
        const named = recordVersion === undefined ? {} : { record_version: String(recordVersion) };
        const detail = { environment, reason, ...named };
        const change = { action, resource: 'subject', resourceId: subjectRef, detail };
        await recordChange(context, change, transaction);
        return result;
      }),
    keys,
    mintKey: (transaction, order) => mintSignedKey(keyParts, { sql: transaction, order }),
    revokeKey: (transaction, environment, id) => revokeSignedKey(keyParts, { sql: transaction, environment, id }),
    environmentOfKey: (id) => environmentOfKey(sql, id),
    venues: venuesStore(prisma),
    insertVenue: (transaction, venue) => insertVenue(transaction, venue, venueParts),
    lockVenue: (transaction, id) => lockVenue(transaction, id, venueParts),
    saveVenue: (transaction, venue) => saveVenue(transaction, venue, macs.venues),
    policies: policiesStore(prisma),
    insertPolicy: (transaction, policy) => insertPolicy(transaction, policy, policyParts),
    lockPolicy: (transaction, environment, policyVersion) =>
      lockPolicy(transaction, { environment, policyVersion, lock: 'FOR UPDATE' }, policyParts),
    savePolicy: (transaction, policy) => savePolicy(transaction, policy, macs.policies),
    readEligibility: (environment, subjectRef) =>
      readEligibility(sql, { macs: macs.eligibility, versions }, { environment, subjectRef }),
    readUnconfirmed: (environment, page) => readUnconfirmed(sql, macs.eligibility, { environment, ...page }),
    readHistory: (id, page) => readHistory(sql, id, page),
    decisions: decisionsStore(prisma),
    embedded: parts.ledger,
    listAudit: (page) => audit.list(sql, page),
    secretReport: () => parts.secretWatch.report(),
    waiting: () => waitingWork(sql),
  });
}

/** Ready: the database answers, the gate could look up what it needs, nothing is wrong with the ledger. Ends within a second. */
async function readiness({ database, gateSql, ledger, sealLedger }: Parts): Promise<ServiceHealth> {
  const [fault, gateIsUp, sealProblem] = await Promise.all([
    database.problem(),
    canLookUp(gateSql, 500),
    sealLedger.problem(),
  ]);
  if (fault !== undefined || !gateIsUp) return notReady(fault ?? NO_ANSWER);
  const { ok, problem: logProblem } = await ledger.health();
  // A halted channel, or a Fabric network that is away: seals wait in the outbox, and the gate does not need it.
  const problem = logProblem ?? sealProblem;
  const ready = { status: 'ready', ...(problem === null ? {} : { problem }) };
  return ok ? { ok, body: ready } : notReady(problem);
}

const NO_ANSWER = 'the database does not answer';
const notReady = (problem: string | null): ServiceHealth => ({ ok: false, body: { status: 'not ready', problem } });

import { lookPlaces, type App } from '@sealgate/http';
import type { AccessToken } from '@sealgate/identity';
import { readiness, type Composition, type Own } from '@sealgate/service-host';
import { administration, mcpApp, publicApp } from './app.ts';
import { channelOfConfig, mcpResourceOf, type RiskConfig } from './config.ts';
import { waitingWork } from './data/anchor-store.ts';
import { anchoredRecords } from './data/anchored-records.ts';
import { callersStore, identitiesStore, organizationsOf, signInStore } from './data/callers-store.ts';
import { auditEvents } from './data/audit-reads.ts';
import { dashboardSummaries, resourceReads } from './data/dashboard-reads.ts';
import { frameworksStore } from './data/frameworks-store.ts';
import { openPrismaOnce, orgsStore } from './data/orgs-store.ts';
import { partnerPorts } from './data/partner-ports.ts';
import { invitationReads, namesOfPeople, peopleStore, personNames, personsSeen } from './data/people-store.ts';
import { unlinkedStore } from './data/unlinked-store.ts';
import { resourceWrites } from './data/resource-writes.ts';
import { exportRecorder, runAuditedIn, writeEntry } from './audited-changes.ts';
import { openParts, type Basics, type Parts } from './parts.ts';
import type { PublicPorts } from './public-routes.ts';

/** Opens all resources of the surface and builds its listeners. */
export async function compose(basics: Basics, own: Own): Promise<Composition> {
  return listenersOf(basics, await openParts(basics, own));
}

export function listenersOf(basics: Basics, parts: Parts): Composition {
  const { config, now } = basics;
  // A person has one share, by REST and by tools.
  const appBase = { ...basics.appBase, places: lookPlaces() };
  const [guard, ports] = [guardPortsOf(basics, parts), publicPortsOf(basics, parts)];
  const { mcpPort: port } = config;
  return {
    publicApp: publicApp(appBase, guard, ports),
    further: port === undefined ? [] : [{ app: mcpApp(appBase, guard, ports), port, portVariable: 'MCP_PORT' }],
    adminApp: adminAppOf(basics, parts),
    ready: readiness({
      database: () => parts.database.problem(),
      ledger: () => parts.ledger.health(),
      limits: parts.limits,
      redisProblem: () => parts.redisProblem(),
      connections: parts.connections,
      otherwise: 'the database does not answer in time',
      deadlineMs: 1400,
      now,
    }),
  };
}

function publicPortsOf({ config, now, newId, log, metrics }: Basics, parts: Parts): PublicPorts {
  const { sql, look, audit, keys, cursors, anchoring, signers, readKeys } = parts;
  const runAudited = runAuditedIn(sql, writeEntry(audit));
  const masked = metrics
    .counter({
      name: 'risk_personal_data_masked_total',
      help: 'Free-text members shown as null because they hold personal data.',
      labels: {},
    })
    .child({});
  const onMasked = (collection: string, id: string, member: string) => {
    masked.inc();
    log.warn('personal_data_masked', { collection, id, member });
  };
  return {
    partner: partnerPorts({ sql, look, onMasked, cursors }),
    sign: (bytes) => signers[0].sign(bytes),
    readKeys,
    reads: resourceReads(sql),
    anchored: anchoredRecords(sql),
    prove: (channel, id) => parts.ledger.prove(channel, id),
    peersChannel: parts.ledger.hasLog ? undefined : channelOfConfig(config),
    lists: resourceReads(look),
    recordExport: exportRecorder(sql, audit),
    personNames: (orgId, ids) => personNames(look, orgId, ids),
    summaries: dashboardSummaries(look),
    manage: { writes: resourceWrites({ sql, audit, now, newId, onAnchor: () => anchoring.wake() }), newId },
    audit: auditEvents(look, audit),
    keys,
    cursors,
    runAudited,
    people: peopleStore({ sql, look, runAudited, now }),
    lastSeen: (orgId, ids) => personsSeen(look, orgId, ids),
    invitations: invitationReads({ sql, look, now }),
    signInUrl: config.consoleUrl ?? config.publicUrl,
    newId,
    now,
    publicUrl: config.publicUrl,
    organizationsOf: organizationsOf(sql),
    mcpSignIn: mcpSignInOf(config, parts),
    allowedHosts: config.mcpAllowedHosts,
    allowedOrigins: config.mcpAllowedOrigins,
    onBug: (error, requestId) =>
      log.error('tool_failed', { requestId, stack: error instanceof Error ? (error.stack ?? '') : String(error) }),
  };
}

function mcpSignInOf(config: RiskConfig, { tokens }: Pick<Parts, 'tokens'>): PublicPorts['mcpSignIn'] {
  const issuers = tokens.issuersOf('mcp');
  if (issuers.length === 0) return undefined;
  const scopes = [...new Set(issuers.flatMap((issuer) => issuer.scopes?.mcp ?? []))];
  return { resource: mcpResourceOf(config), issuers: issuers.map(({ issuer }) => issuer), scopes };
}

function guardPortsOf({ config, now, newId }: Basics, parts: Parts) {
  const { sql, limits, addresses, lastUsed, lastSeen, audit, tokens, unlinked } = parts;
  const callers = callersStore({ sql, now, deadlineMs: 1000 });
  return {
    findCaller: (keyHash: Buffer) => callers.find(keyHash),
    recentCaller: (keyHash: Buffer) => callers.lately(keyHash),
    people: tokens.isConfigured
      ? {
          tokens,
          store: signInStore({
            sql,
            now,
            runAudited: runAuditedIn(sql, writeEntry(audit)),
            deadlineMs: 1000,
            newId,
          }),
          onUnlinked: (token: AccessToken) => unlinked.note(token),
        }
      : undefined,
    touchKey: (keyId: string) => lastUsed.touch(keyId),
    touchPerson: (personId: string) => lastSeen.touch(personId),
    limits,
    addresses,
    keyLimits: { ratePerSecond: config.ratePerSecond, burst: config.rateBurst },
    now,
  };
}

function adminAppOf(
  { now, newId, appBase }: Basics,
  { sql, look, audit, auditChange, auditSigning, keys, cursors, secretWatch, adminAccess, actorNames }: Parts,
): App {
  const openPrisma = openPrismaOnce(sql.pool);
  const write = writeEntry(audit);
  const runAudited = runAuditedIn(sql, write);
  return administration(appBase, adminAccess, {
    orgs: orgsStore(sql, runAudited, look),
    people: peopleStore({ sql, look, runAudited, now }),
    identities: identitiesStore(look, runAudited),
    unlinked: unlinkedStore({ sql: look, now }),
    frameworks: frameworksStore(openPrisma, { look, now, write }),
    keys,
    cursors,
    auditChange,
    runAudited,
    newId,
    now,
    secretReport: () => secretWatch.report(),
    waiting: () => waitingWork(look),
    listAudit: (query) => audit.list(look, query),
    countAudit: (query) => audit.count(look, query),
    actorNames: async (actors) => ({ ...(await actorNames(actors)), ...(await namesOfPeople(look, actors)) }),
    auditSigning,
  });
}

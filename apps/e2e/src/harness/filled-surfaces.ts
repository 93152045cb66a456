import { randomBytes } from 'node:crypto';
import { copyRows } from '@sealgate/local-services';
import type { Members } from './admin-client.ts';
import type { Database } from './bundle.ts';
import { approvedSubject, gateSetup, type GateSetup } from './gate-setup.ts';
import { lookingPaths } from './hostile-readers.ts';
import { install, outOfReach, type Installation } from './installation.ts';
import { askRisk, riskSetup, type RiskSetup } from './risk-setup.ts';
import { isFull } from './scale.ts';

// Surfaces with many rows: one large network, environment or organisation, and two hundred small ones. The first row of
// each table is made by its door, the others are copies of it in which ids, times and what filters look at differ.

/** Of those who look: a path for everything that the documents list, with what exists and what does not. */
interface Filled<Setup> {
  readonly setup: Setup;
  readonly paths: readonly string[];
}

const SMALL = 200;
const unique = (): string => randomBytes(12).toString('hex');
/** Of the copies every tenth belongs to one of the small ones, whose name ends in its number. */
const owner = (large: string, small: string): string =>
  `CASE WHEN g % 10 = 0 THEN '${small}' || (g / 10 % ${SMALL}) ELSE ${large} END`;
const oneOf = (values: readonly string[]): string =>
  `(ARRAY[${values.map((value) => `'${value}'`).join(', ')}])[1 + g % ${values.length}]`;
/** A member of a JSON text, replaced. */
const replaced = (column: string, from: string, to: string): string => `replace(t.${column}, '${from}', ${to})`;

export async function filledGateway(
  postgres: Database,
  count: number,
): Promise<Filled<Installation> & { readonly key: string }> {
  const setup = await install({ postgres });
  const { admin, gateway } = setup;
  await admin.ask('POST', '/networks', { networkId: 'demo', limits: outOfReach });
  const { id, rawKey } = await setup.newKey('demo');
  const hook = {
    name: 'hooks',
    scheme: 'token',
    secrets: [{ id: 'k1', value: unique() }],
    token: { header: 'X-Token' },
  };
  const { sourceId, path } = await admin.ask('POST', '/networks/demo/sources', hook);
  const headers = { 'X-Api-Key': rawKey, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ assets: [{ id: 'invoice-1', type: 'invoice', data: { amount: 1 } }] });
  // The first write leaves a row in `writes`; the others, which find its record, in `events`.
  for (let writes = 0; writes < 3; writes += 1) {
    const keyed = { ...headers, 'Idempotency-Key': unique() };
    const written = await gateway.public.send({ method: 'POST', path: '/demo', headers: keyed, body });
    if (written.status > 299) throw new Error(written.text);
  }
  await gateway.public.send({ method: 'POST', path: String(path), headers: { 'X-Token': 'wrong' }, body });
  const url = postgres.url;
  const hex = `lpad(to_hex(g), 12, '0')`;
  const network_id = owner('t.network_id', 'net-');
  const types = `CASE WHEN g % 1000 = 0 THEN '["rare"]' ELSE t.types END`;
  const event_id = `overlay(t.event_id::text placing ${hex} from 25)::uuid`;
  await eventually(() => copyRows(url, { table: 'ingest.writes', count, set: { event_id, network_id, types } }));
  await copyRows(url, {
    table: 'ingest.events',
    count: Math.floor(count / 10),
    set: { event_id: `overlay(t.event_id placing ${hex} from 25)`, network_id },
  });
  const refused = {
    refused_id: `overlay(t.refused_id placing ${hex} from 20)`,
    code: oneOf(['UNAUTHENTICATED', 'INVALID_JSON']),
  };
  // No more are kept of a source.
  const refusals = Math.min(count, 9_000);
  await eventually(() => copyRows(url, { table: 'ingest.refused_deliveries', count: refusals, set: refused }));
  await copyAudit(url, 'ingest', count);
  const known = {
    networkId: 'demo',
    channel: 'demo.main',
    sourceId: String(sourceId),
    id,
    keyId: id,
    type: 'invoice',
    q: 'demo',
  };
  const paths = lookingPaths('ingest-gateway', 'admin-openapi.json', known);
  for (const filter of ['type=nosuch', 'type=rare', 'status=rejected', `keyId=${id}`, 'channel=demo.none'])
    paths.push(`/admin/v1/events?networkId=demo&${filter}`);
  return { setup, paths, key: rawKey };
}

export async function filledGate(
  postgres: Database,
  count: number,
): Promise<Filled<GateSetup> & { readonly subjectRef: string }> {
  // A quick run shares its machine: a check that is late there is no check that was refused.
  const setup = await gateSetup({ postgres, env: isFull ? {} : { GATE_DEADLINE_MS: '3000' } });
  const { subjectRef, caseId } = await approvedSubject(setup);
  const { url } = postgres;
  const digits = `lpad(g::text, 8, '0')`;
  const environment = owner('t.environment', 'env-');
  const aged = (column: string): string => `t.${column} - g * interval '1 second'`;
  const status = oneOf(['received', 'in_review', 'approved', 'rejected', 'sealed', 'expired']);
  await copyRows(url, {
    table: 'gate.cases',
    count,
    set: { case_id: `t.case_id || ${digits}`, environment, status, created_at: aged('created_at') },
    from: `case_id = '${caseId}'`,
  });
  await copyRows(url, {
    table: 'gate.eligibility',
    count,
    set: { subject_ref: `t.subject_ref || ${digits}`, environment },
  });
  await setup.gate.public.send({
    method: 'POST',
    path: '/v1/gate/check',
    headers: { Authorization: `Bearer ${setup.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ subject_ref: subjectRef, venue_id: 'hall' }),
  });
  await eventually(() =>
    copyRows(url, {
      table: 'gate.gate_decisions',
      count,
      set: {
        decision_id: `t.decision_id || ${digits}`,
        seq: `t.seq + g`,
        environment,
        venue_id: oneOf(['hall', 'gate', 'door']),
        reason_code: oneOf(['ELIGIBLE', 'SUSPENDED', 'NOT_FOUND']),
        evaluated_at: aged('evaluated_at'),
      },
    }),
  );
  await copyAudit(url, 'gate', count);
  const known = {
    subject_ref: subjectRef,
    case_id: caseId,
    venue_id: 'hall',
    policy_version: 'p1',
    environment: 'live',
    q: 'hall',
  };
  return { setup, subjectRef, paths: lookingPaths('case-gate', 'admin-openapi.json', known) };
}

export async function filledRisk(
  postgres: Database,
  count: number,
): Promise<
  Filled<RiskSetup> & { readonly viewer: string; readonly partner: string; readonly adminPaths: readonly string[] }
> {
  const setup = await riskSetup(postgres);
  const { orgId } = setup;
  const [process] = setup.processes;
  const owned = await setup.newPerson(['owner']);
  const scope = { departments: ['legal', 'finance'], canReadSensitive: false, unrestricted: false };
  const viewer = await setup.newPerson(['viewer'], { scope });
  const partner = await setup.newPerson(['partner_read'], { kind: 'machine' });
  const make = async (path: string, body: object): Promise<Members> => {
    const answer = await askRisk(process!, owned.key, ['POST', path], { body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  const inherent = { likelihood: 3, impact: 4 };
  const risk = await make('/api/risks', {
    title: 'Payment access',
    category: 'operational',
    department: 'legal',
    inherent,
  });
  const worse = { body: { current: { likelihood: 5, impact: 5 } }, headers: { 'If-Match': '"1"' } };
  await askRisk(process!, owned.key, ['PATCH', `/api/risks/${String(risk['id'])}`], worse);
  const sha256 = 'a'.repeat(64);
  const evidence = await make('/api/evidence', {
    title: 'Access review',
    kind: 'document',
    department: 'legal',
    sha256,
  });
  const { url } = postgres;
  await copyRows(url, { table: 'risk.orgs', count: SMALL, set: { org_id: `'org_small_' || (g - 1)` } });
  await copyRows(url, { table: 'risk.orgs', count: Math.floor(count / 10), set: { org_id: `t.org_id || g` } });
  const orgs = owner('t.org_id', 'org_small_');
  await copyRows(url, {
    table: 'risk.people',
    count: Math.floor(count / 10),
    set: { person_id: `t.person_id || lpad(g::text, 8, '0')`, org_id: orgs },
    from: `person_id = '${partner.id}'`,
  });
  const idOf = (prefix: string) => `'${prefix}' || lpad(g::text, 22, '0')`;
  const department = `CASE WHEN g % 1000 = 0 THEN 'legal' ELSE ${oneOf(['sales', 'billing', 'support'])} END`;
  for (const [kind, prefix, { id }] of [
    ['risk', 'rsk_', risk],
    ['evidence', 'evd_', evidence],
  ] as const) {
    const newId = idOf(prefix);
    await copyRows(url, {
      table: 'risk.resources',
      count,
      set: {
        id: newId,
        org_id: orgs,
        department,
        created_at: `t.created_at - g * interval '1 second'`,
        lower_until: `CASE WHEN g % 50 = 1 THEN t.lower_until END`,
        doc: replaced('doc', String(id), newId),
        item: replaced('item', String(id), newId),
      },
      from: `kind = '${kind}' AND id = '${String(id)}'`,
    });
  }
  await copyRows(url, { table: 'risk.score_changes', count, set: { org_id: orgs, risk_id: idOf('rsk_') } });
  await copyAudit(url, 'risk', count);
  const known = { orgId, personId: viewer.id, id: String(risk['id']), q: 'payment', department: 'legal' };
  return {
    setup,
    viewer: viewer.key,
    partner: partner.key,
    paths: [
      ...lookingPaths('risk-partner', 'openapi.json', known),
      `/api/risks?limit=200&worseSince=${String(risk['createdAt'])}`,
    ],
    adminPaths: lookingPaths('risk-partner', 'admin-openapi.json', { orgId, personId: viewer.id, q: 'acme' }),
  };
}

/** The chain of an event is not that of its copies: they are shown with their problem. */
const copyAudit = (url: string, schema: string, count: number): Promise<void> =>
  copyRows(url, {
    table: `${schema}.audit_events`,
    count,
    set: { id: `left(t.id, 40) || g`, at: `t.at - g * interval '1 second'`, actor: oneOf(['admin:01', 'admin:02']) },
  });

/** What is written behind an answer is there some moments later. */
async function eventually(work: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries > 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

import { hash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { approvedSubject } from '../harness/gate-setup.ts';
import { membersOf } from '../harness/admin-client.ts';
import type { HttpAnswer, HttpRequest } from '../harness/http-exchange.ts';
import { githubHeaders, newSecret, newSource } from '../harness/webhook-sender.ts';
import { outOfReach } from '../harness/installation.ts';
import type { PodStates } from './pod-states.ts';
import { PEER_CHANNEL, type PodName, type WatchedSite } from './site.ts';

/** What operators made before the load begins. */
export interface World {
  readonly networkId: string;
  readonly ingestKey: string;
  readonly source: { readonly sourceId: string; readonly path: string; readonly secret: string };
  readonly gateKey: string;
  readonly subjectRef: string;
  readonly riskKey: string;
  /** Of somebody who may approve what the first one collected. */
  readonly reviewerKey: string;
}

const SCOPES = [
  ...['case:write', 'case:decide', 'case:override', 'case:seal', 'case:read', 'case:export'],
  ...['eligibility:read', 'gate:check'],
];

export async function makeWorld(site: WatchedSite): Promise<World> {
  const [ingest, gate, risk] = [site.admin('gateway-1'), site.admin('case-gate'), site.admin('risk-partner')];
  const networkId = `net-${randomBytes(3).toString('hex')}`;
  await ingest.ask('POST', '/networks', { networkId, limits: outOfReach });
  const made = await ingest.ask('POST', `/networks/${networkId}/keys`, { label: 'watched', limits: outOfReach });
  const secret = newSecret();
  const { path, sourceId } = await newSource(ingest, networkId, {
    secret,
    limits: outOfReach,
    keepRefusedHours: 1,
  });
  await gate.ask('POST', '/venues', { venue_id: 'hall', name: 'Hall' });
  await gate.ask('POST', '/policies', { policy_version: 'p1', status: 'active' });
  const { rawKey } = await gate.ask('POST', '/keys', { label: 'watched', environment: 'live', scopes: SCOPES });
  const gateKey = String(rawKey);
  const { subjectRef } = await approvedSubject({ gate: site.pods['case-gate'].process, key: gateKey });
  const { id: orgId } = await risk.ask('POST', '/orgs', { name: 'Watched' });
  const newPerson = async (role: string): Promise<string> => {
    const body = { name: role, kind: 'human', roles: [role] };
    const { id } = await risk.ask('POST', `/orgs/${String(orgId)}/people`, body);
    const key = await risk.ask('POST', `/orgs/${String(orgId)}/people/${String(id)}/keys`, { label: 'watched' });
    return String(key['rawKey']);
  };
  return {
    networkId,
    ingestKey: String(made['rawKey']),
    source: { sourceId, path, secret },
    gateKey,
    subjectRef,
    riskKey: await newPerson('owner'),
    reviewerKey: await newPerson('risk_manager'),
  };
}

/** What a client of the load sends, and how the load can be made to send something wrong. */
export interface Load {
  /** Deliveries are signed with another secret while it is true. */
  isForging: boolean;
  /** The ledger peer is asked by somebody with a wrong key, too, while it is true. */
  isGuessing: boolean;
  /** How many answers came with 2xx, by surface. */
  readonly good: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

const PAUSE_MS = 200;
const DOORS = 4;
const TIMEOUT_MS = 3_000;

/**
 * A few requests a second to every surface, and a reader of the events of the ledger peer; only pods that are ready get
 * any, as a Service sends them.
 */
export function steadyLoad(site: WatchedSite, world: World, pods: PodStates): Load {
  const good: Record<string, number> = {};
  const load = { isForging: false, isGuessing: false, good };
  let isStopped = false;
  const leaving = new AbortController();
  const send = async (name: PodName, request: HttpRequest): Promise<void> => {
    const pod = site.pods[name];
    if (!pods.isReady(pod)) return;
    const answer = await pod.process.public.send({ timeoutMs: TIMEOUT_MS, ...request }).catch(() => undefined);
    if (answer !== undefined && answer.status < 300) good[pod.surface] = (good[pod.surface] ?? 0) + 1;
  };
  const steps: readonly (() => Promise<void>)[] = [
    ...(['gateway-1', 'gateway-2'] as const).map((name) => () => send(name, newRecord(world))),
    ...(['gateway-1', 'gateway-2'] as const).map(
      (name) => async () => send(name, await delivery(world, load.isForging)),
    ),
    ...Array.from({ length: DOORS }, () => () => send('case-gate', check(world))),
    () => send('risk-partner', { path: '/api/risks', headers: bearer(world.riskKey) }),
    () => send('ledger-peer', newAsset(site)),
    async () => {
      if (pods.isReady(site.pods['ledger-peer'])) await readEvents(site, leaving.signal);
    },
    async () => {
      const wrong = { path: '/api/assets/x', headers: { 'X-Api-Key': 'not-a-key-of-anybody' } };
      if (load.isGuessing) await Promise.all(Array.from({ length: 5 }, () => send('ledger-peer', wrong)));
    },
    () => send('console', { method: 'HEAD', path: '/log' }),
  ];
  const loops = steps.map(async (step) => {
    while (!isStopped) {
      await step();
      await delay(PAUSE_MS);
    }
  });
  return Object.assign(load, {
    async stop() {
      isStopped = true;
      leaving.abort();
      await Promise.all(loops);
    },
  });
}

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const json = { 'Content-Type': 'application/json' };

const newRecord = ({ networkId, ingestKey }: World): HttpRequest => ({
  method: 'POST',
  path: `/${networkId}`,
  headers: { 'X-Api-Key': ingestKey, ...json },
  body: JSON.stringify({ data: { is: 'watched' } }),
});

const newAsset = ({ peerKey }: WatchedSite): HttpRequest => ({
  method: 'POST',
  path: '/api/assets',
  headers: { 'X-Api-Key': peerKey, ...json },
  body: JSON.stringify({ assets: [{ id: randomUUID(), type: 'asset', data: {} }] }),
});

/** Reads the events of the channel from now on, until either side ends the stream. */
async function readEvents({ pods, peerKey }: WatchedSite, signal: AbortSignal): Promise<void> {
  const url = new URL(`/api/events?channel=${PEER_CHANNEL}`, pods['ledger-peer'].process.public.origin);
  try {
    const { body } = await fetch(url, { headers: { 'X-Api-Key': peerKey }, signal });
    await body?.pipeTo(new WritableStream());
  } catch {
    // The process has ended, or the load has: the next step begins a new one.
  }
}

const check = ({ gateKey, subjectRef }: World): HttpRequest => ({
  method: 'POST',
  path: '/v1/gate/check',
  headers: { ...bearer(gateKey), ...json },
  body: JSON.stringify({ subject_ref: subjectRef, venue_id: 'hall' }),
});

async function delivery({ source }: World, isForged: boolean): Promise<HttpRequest> {
  const body = JSON.stringify({ is: 'watched' });
  const headers = await githubHeaders({ secret: isForged ? 'another secret' : source.secret, body });
  return { method: 'POST', path: source.path, headers, body };
}

/** Collects evidence and approves it, so that its fingerprint is anchored in the ledger. */
export async function approveEvidence(
  site: WatchedSite,
  { riskKey, reviewerKey }: World,
): Promise<{ readonly evidenceId: string; readonly requestId: string }> {
  const { public: http } = site.pods['risk-partner'].process;
  const post = async (key: string, path: string, body: object): Promise<HttpAnswer> => {
    const headers = { ...bearer(key), ...json };
    const answer = await http.send({ method: 'POST', path, headers, body: JSON.stringify(body) });
    if (answer.status > 299) throw new Error(`${path}: ${answer.text}`);
    return answer;
  };
  const sha256 = hash('sha256', randomUUID(), 'hex');
  const made = await post(riskKey, '/api/evidence', { title: 'Report', kind: 'document', sha256 });
  const evidenceId = String(membersOf(made.body)['id']);
  await post(riskKey, `/api/evidence/${evidenceId}/transitions`, { to: 'in_review' });
  const approved = await post(reviewerKey, `/api/evidence/${evidenceId}/transitions`, { to: 'approved' });
  return { evidenceId, requestId: String(approved.headers['x-request-id']) };
}

/** Each request anew, as a client of the surface sends it. */
export function requestsOf(site: WatchedSite, world: World) {
  const ofGate = { ...bearer(world.gateKey), ...json };
  const step = (path: string, body: object, idempotencyKey: string = randomUUID()): HttpRequest => ({
    method: 'POST',
    path,
    headers: { ...ofGate, 'Idempotency-Key': idempotencyKey },
    body: JSON.stringify(body),
  });
  const risk = { title: 'Watched', category: 'ops', inherent: { likelihood: 2, impact: 3 } };
  return {
    step,
    record: () => newRecord(world),
    delivery: () => delivery(world, false),
    asset: () => newAsset(site),
    case: () => step('/v1/cases', { subject_ref: `subj_${randomBytes(8).toString('hex')}`, venue_ids: ['hall'] }),
    risk: (): HttpRequest => ({
      method: 'POST',
      path: '/api/risks',
      headers: { ...bearer(world.riskKey), ...json },
      body: JSON.stringify(risk),
    }),
    evidence: (id: string): HttpRequest => ({ path: `/api/evidence/${id}`, headers: bearer(world.riskKey) }),
    check: (subjectRef: string) => check({ ...world, subjectRef }),
  };
}

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { membersOf, type AdminClient, type Members } from '../harness/admin-client.ts';
import { outOfReach } from '../harness/installation.ts';
import { newSecret, newSource } from '../harness/webhook-sender.ts';
import type { Known } from './history.ts';
import type { Receiver } from './receiver.ts';
import { PEER_CHANNEL, type Site, type Stored } from './site.ts';

/** A network of the gateway with its key and a source of webhooks. */
export interface Network {
  readonly networkId: string;
  readonly key: string;
  readonly source: { readonly path: string; readonly secret: string };
}

/** An environment of the gate with a key of all scopes; its venue is `hall`, its policy `p1`. */
export interface Environment {
  readonly name: string;
  readonly key: string;
}

/** An organisation of the risk partner. */
export interface Organisation {
  readonly orgId: string;
  readonly owner: Person;
  readonly reviewer: Person;
  readonly partner: Person;
}

export interface Person {
  readonly id: string;
  readonly key: string;
}

/** What operators made before the load begins; empty where a surface does not run. */
export interface World {
  readonly networks: readonly Network[];
  readonly environments: readonly Environment[];
  readonly organisations: readonly Organisation[];
  readonly subscriptions: Known['subscriptions'];
}

export const CHANNELS = ['main', 'other'] as const;
const SCOPES = [
  ...['case:write', 'case:decide', 'case:override', 'case:seal', 'case:read', 'case:export'],
  ...['eligibility:read', 'gate:check'],
];

/** Two of each, so that somebody could see what belongs to somebody else. */
export async function makeWorld(site: Site, receiver: Receiver): Promise<World> {
  const runs = (surface: Stored): boolean => site.replicasOf(surface).length > 0;
  const twice = <Value>(surface: Stored, make: (number: number) => Promise<Value>): Promise<Value[]> =>
    runs(surface) ? inTurn(make) : Promise.resolve([]);
  return {
    networks: await twice('ingest-gateway', (number) => newNetwork(site, number)),
    environments: await twice('case-gate', (number) => newEnvironment(site, number === 1 ? 'live' : 'test')),
    organisations: await twice('risk-partner', (number) => newOrganisation(site, number)),
    // On Fabric, webhooks are pushed from its blocks: see the stories of it.
    subscriptions: runs('ledger-peer') && site.fabric === undefined ? [await newSubscription(site, receiver)] : [],
  };
}

const inTurn = async <Value>(make: (number: number) => Promise<Value>): Promise<Value[]> => [
  await make(1),
  await make(2),
];

const TRIES = 20;
const PAUSE_MS = 500;

/**
 * The surface's admin API, asked again where a busy machine had its database time out: what was made by then is found, or
 * made a second time under another id.
 */
function adminOf(site: Site, surface: Stored): Pick<AdminClient, 'ask'> {
  const { admin } = site.replicasOf(surface)[0]!;
  return {
    async ask(method, path, body) {
      for (let left = TRIES; ; left -= 1) {
        const { status, text, body: told } = await admin.send(method, path, body);
        if (status < 300) return membersOf(told);
        if (left < TRIES && text.includes('"ALREADY_EXISTS"')) return {};
        if (left === 0 || status !== 503) throw new Error(`${method} ${path}: ${status} ${text}`);
        await delay(PAUSE_MS);
      }
    },
  };
}

async function newNetwork(site: Site, number: number): Promise<Network> {
  const admin = adminOf(site, 'ingest-gateway');
  const networkId = `net-${number}-${randomBytes(3).toString('hex')}`;
  await admin.ask('POST', '/networks', { networkId, channels: CHANNELS, limits: outOfReach });
  const body = { label: 'chaos', limits: outOfReach };
  const { rawKey } = await admin.ask('POST', `/networks/${networkId}/keys`, body);
  const secret = newSecret();
  const { path } = await newSource(admin, networkId, { secret, limits: outOfReach });
  return { networkId, key: String(rawKey), source: { path, secret } };
}

async function newEnvironment(site: Site, environment: string): Promise<Environment> {
  const admin = adminOf(site, 'case-gate');
  await admin.ask('POST', '/venues', { venue_id: 'hall', name: 'Hall', environment });
  await admin.ask('POST', '/policies', { policy_version: 'p1', status: 'active', environment });
  const { rawKey } = await admin.ask('POST', '/keys', { label: 'chaos', environment, scopes: SCOPES });
  return { name: environment, key: String(rawKey) };
}

async function newOrganisation(site: Site, number: number): Promise<Organisation> {
  const admin = adminOf(site, 'risk-partner');
  const { id: orgId } = await admin.ask('POST', '/orgs', { name: `Organisation ${number}` });
  const newPerson = async (roles: readonly string[], kind: string): Promise<Person> => {
    const person = await admin.ask('POST', `/orgs/${String(orgId)}/people`, { name: roles.join(' '), kind, roles });
    const path = `/orgs/${String(orgId)}/people/${String(person['id'])}/keys`;
    const key = await admin.ask('POST', path, { label: 'chaos' });
    return { id: String(person['id']), key: String(key['rawKey']) };
  };
  return {
    orgId: String(orgId),
    owner: await newPerson(['owner'], 'human'),
    reviewer: await newPerson(['risk_manager'], 'human'),
    partner: await newPerson(['partner_read'], 'machine'),
  };
}

async function newSubscription(site: Site, receiver: Receiver): Promise<World['subscriptions'][number]> {
  const admin = adminOf(site, 'ledger-peer');
  const body = { url: receiver.url, channel: PEER_CHANNEL, from: '0' };
  const { subscriptionId, secrets } = await admin.ask('POST', '/subscriptions', body);
  const [first] = secrets as Members[];
  const secret = String(first!['value']);
  receiver.expect(String(subscriptionId));
  return { subscription: String(subscriptionId), channel: PEER_CHANNEL, secret, from: 0 };
}

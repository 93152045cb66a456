import { describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { isKeyValid, type KeyEnd } from '@sealgate/auth/key-state';
import { pickPerson, until } from '@sealgate/testing';
import * as client from 'openid-client';
import type { DevFile } from './dev-file.ts';
import { oauthMemory } from './oauth-memory.fixture.ts';

const callback = 'http://127.0.0.1:5555/callback';

let dev: DevFile;
let config: client.Configuration;

/** The stories ask what this start runs. */
export async function visitDemo(started: DevFile): Promise<void> {
  dev = started;
  config = await client.discovery(new URL(dev.oidc!.issuer), dev.oidc!.clientId, undefined, client.None(), {
    execute: [client.allowInsecureRequests],
  });
}

/** An access token for that audience, or for the one in dev.json. */
const tokenOf = async (role: string, resource = dev.oidc!.audience): Promise<string> => {
  const verifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid email',
    resource,
    code_challenge_method: 'S256',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
  });
  const { subject = '' } = dev.demo.people!.find((person) => person.role === role) ?? {};
  const returned = await pickPerson(url, subject);
  const tokens = await client.authorizationCodeGrant(config, returned, { pkceCodeVerifier: verifier });
  return tokens.access_token;
};
const ask = async (url: string, token: string, init: RequestInit = {}) => {
  const headers = { authorization: `Bearer ${token}`, ...init.headers };
  const response = await fetch(url, { ...init, headers });
  return { status: response.status, text: await response.text() };
};
const post = (url: string, token: string, body: object) =>
  ask(url, token, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(body),
  });
const surface = (name: string) => dev.surfaces[name]!;
const risk = (path: string): string => `${surface('risk-partner').url}${path}`;
const readable = [
  ['risk-partner', '/orgs'],
  ['case-gate', '/venues'],
  ['ledger-peer', '/ledger/channels'],
  ['ingest-gateway', '/networks'],
] as const;

const pathOf = (name: string): string => readable.find(([each]) => each === name)![1];

const list = async (name: string, path: string): Promise<Readonly<Record<string, unknown>>[]> => {
  const { text } = await ask(`${surface(name).adminUrl}/admin/v1${path}`, dev.adminToken);
  return JSON.parse(text).items;
};
const sizes = async () =>
  (await list('ingest-gateway', '/ledger/channels')).map(({ channel, size }) => [channel, size]);
// Except the gate's channel: a stopping gate writes the head of its decisions there.
const otherSizes = async () => (await sizes()).filter(([channel]) => channel !== 'demo.cases');

/** Everything that npm start runs, once it is visited. */
export function demoStories(): void {
  peopleStories();
  consoleStories();
  dataStories();
}

/** The demo people on all listeners that accept tokens, with everything that npm start runs. */
function peopleStories(): void {
  describe('people of the demo', () => {
    it.each(['owner', 'admin', 'risk_manager', 'auditor', 'contributor', 'viewer', 'partner_read'])(
      'have the role %s of surface A, and no other',
      async (role) => {
        const whoami = await ask(risk('/api/v1/whoami'), await tokenOf(role));
        expect(JSON.parse(whoami.text)).toMatchObject({ orgId: dev.demo.orgId, roles: [role] });
      },
    );

    it('read the dashboard and the partner API according to their role', async () => {
      const viewer = await tokenOf('viewer', surface('risk-partner').url);
      expect((await ask(risk('/api/risks'), viewer)).status).toBe(200);
      expect((await ask(risk('/api/v1/risks'), viewer)).status).toBe(200);
      expect((await post(risk('/api/risks'), viewer, {})).status).toBe(403);
      const partner = await tokenOf('partner_read');
      expect((await ask(risk('/api/v1/risks'), partner)).status).toBe(200);
      expect((await ask(risk('/api/risks'), partner)).status).toBe(403);
    });

    it('use the tools only with a token for their address', async () => {
      const whoami = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } };
      const answer = await post(risk('/mcp'), await tokenOf('auditor', risk('/mcp')), whoami);
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('auditor');
      for (const audience of [dev.oidc!.audience, surface('risk-partner').url])
        expect((await post(risk('/mcp'), await tokenOf('auditor', audience), whoami)).status).toBe(401);
    });

    it('can be signed in by an MCP client that only has the address', async () => {
      const memory = oauthMemory((url) => pickPerson(url, 'demo-contributor'));
      const connect = async () => {
        const transport = new StreamableHTTPClientTransport(new URL(risk('/mcp')), { authProvider: memory.provider });
        const tools = new Client({ name: 'a tool client', version: '1.0.0' });
        return { tools, transport, connected: tools.connect(transport) };
      };
      const first = await connect();
      await expect(first.connected).rejects.toThrow(UnauthorizedError);
      await first.transport.finishAuth(new URL(await memory.returned()).searchParams);
      const { tools, connected } = await connect();
      await connected;
      const whoami = async () => (await tools.callTool({ name: 'whoami', arguments: {} })).structuredContent;
      expect(await whoami()).toMatchObject({ orgId: dev.demo.orgId, roles: ['contributor'] });
      expect(memory.asked()?.get('resource')).toBe(risk('/mcp'));

      // An expired token is refreshed without user interaction.
      memory.spoilAccessToken();
      expect(await whoami()).toMatchObject({ roles: ['contributor'] });
      expect(memory.timesAsked()).toBe(1);
      await tools.close();
    });

    it('have full access to each admin listener as operator, and read access as viewer', async () => {
      const [operator, viewer] = [await tokenOf('operator'), await tokenOf('viewer')];
      for (const [name, path] of readable) {
        const url = `${surface(name).adminUrl}/admin/v1${path}`;
        expect([name, (await ask(url, operator)).status, (await ask(url, viewer)).status]).toEqual([name, 200, 200]);
      }
      const networks = `${surface('ingest-gateway').adminUrl}/admin/v1/networks`;
      expect((await post(networks, viewer, { networkId: 'by-a-viewer' })).status).toBe(403);
      expect((await post(networks, operator, { networkId: 'by-an-operator' })).status).toBe(201);
      for (const role of ['owner', 'admin', 'auditor'])
        expect((await ask(networks, await tokenOf(role))).status).toBe(401);
    });

    it('are rejected with a token for another listener', async () => {
      for (const [name, path] of readable) {
        const token = await tokenOf('operator', surface(name).adminUrl);
        for (const [other] of readable) {
          const { status } = await ask(`${surface(other).adminUrl}/admin/v1${pathOf(other)}`, token);
          expect([name, path, other, status]).toEqual([name, path, other, other === name ? 200 : 401]);
        }
      }
      const ofGateway = await tokenOf('owner', surface('ingest-gateway').adminUrl);
      expect((await ask(risk('/api/whoami'), ofGateway)).status).toBe(401);
      expect((await ask(risk('/api/whoami'), await tokenOf('operator'))).status).toBe(401);
    });
  });
}

function consoleStories(): void {
  describe('the console', () => {
    const open = (path: string, cookies: readonly string[] = []): Promise<Response> =>
      fetch(new URL(path, dev.console!.url), { redirect: 'manual', headers: { cookie: cookies.join('; ') } });
    const cookiesOf = (response: Response): string[] =>
      response.headers.getSetCookie().map((line) => line.split(';')[0] ?? '');

    it('signs demo people in, and shows them the data they may see', async () => {
      expect((await open('/')).headers.get('content-type')).toContain('text/html');
      const asked = await open('/sign-in?returnTo=/');
      const returned = await pickPerson(asked.headers.get('location')!, 'demo-viewer');
      const session = cookiesOf(await open(returned.href, cookiesOf(asked)));
      const { person } = (await (await open('/session', session)).json()) as { person: object };
      expect(person).toMatchObject({ subject: 'demo-viewer', email: 'demo-viewer@example.com' });
      const whoami = (await (await open('/api/risk-partner/api/whoami', session)).json()) as object;
      expect(whoami).toMatchObject({ orgId: dev.demo.orgId, roles: ['viewer'], via: 'token' });
      for (const [name, path] of readable)
        expect((await open(`/admin/${name}/admin/v1${path}`, session)).status).toBe(200);
    });
  });
}

function dataStories(): void {
  describe('the data of the demo', () => {
    it('has committed records of several types over several days', async () => {
      const events = await list('ingest-gateway', '/events?limit=200');
      expect(new Set(events.flatMap(({ types }) => types)).size).toBeGreaterThanOrEqual(6);
      expect(new Set(events.map(({ status }) => status))).toEqual(new Set(['committed']));
      const size = new Map((await sizes()) as [string, number][]).get('demo.main')!;
      expect(size).toBeGreaterThan(300);
    });

    it('has a source of webhooks with accepted, duplicate and refused deliveries', async () => {
      const [source] = await list('ingest-gateway', '/networks/demo/sources');
      const path = `/networks/demo/sources/${String(source?.['sourceId'])}`;
      const deliveries = await list('ingest-gateway', `${path}/deliveries?limit=200`);
      expect(new Set(deliveries.map(({ outcome }) => outcome))).toEqual(new Set(['written', 'replayed', 'refused']));
      const refused = async () => (await list('ingest-gateway', `${path}/refused`)).map(({ reason }) => reason).sort();
      // They are written once a second.
      await until(async () => (await refused()).length === 4);
      expect(await refused()).toEqual(['clock-skew', 'no-matching-secret', 'no-matching-secret', 'not-json']);
    });

    it('has no trace of who set it up but those people of the demo', async () => {
      const owner = dev.demo.keys['owner']!;
      const audit = JSON.parse((await ask(risk('/api/audit?limit=200'), owner)).text) as { action: string }[];
      expect(audit.filter(({ action }) => action.startsWith('member.'))).toEqual([]);
      const people = JSON.parse((await ask(risk('/api/people'), owner)).text) as { name: string }[];
      expect(people.filter(({ name }) => !name.endsWith('(demo)'))).toEqual([]);
    });

    it('has gate decisions for every common reason', async () => {
      const reasons = (await list('case-gate', '/decisions?limit=200')).flatMap((row) => row['reason_codes']);
      const usual = ['ELIGIBLE', 'NO_SEALED_DECISION', 'INELIGIBLE', 'ELIGIBILITY_SUSPENDED', 'ELIGIBILITY_REVOKED'];
      expect(reasons).toEqual(
        expect.arrayContaining([...usual, 'VENUE_NOT_PERMITTED', 'VENUE_UNKNOWN', 'SUBJECT_UNKNOWN']),
      );
      const policies = await list('case-gate', '/policies');
      expect(new Set(policies.map(({ status }) => status))).toEqual(new Set(['draft', 'active', 'retired']));
    });

    it('has evidence that expires soon or has expired, and requirements without any', async () => {
      const partner = dev.demo.keys['partner_read']!;
      const read = async (path: string): Promise<{ state: string }[]> =>
        JSON.parse((await ask(risk(path), partner)).text).items;
      const evidence = (await read('/api/v1/evidence?limit=200')).map(({ state }) => state);
      expect(evidence).toEqual(expect.arrayContaining(['approved', 'expiring', 'expired', 'collected', 'rejected']));
      const coverage = (await read('/api/v1/coverage?limit=200')).map(({ state }) => state);
      expect(new Set(coverage)).toEqual(new Set(['covered', 'partial', 'gap']));
    });

    it('keeps the demo keys, and no other valid key', async () => {
      const keys = await list('case-gate', '/keys?environment=live');
      expect(keys.filter((key) => isKeyValid(key as unknown as KeyEnd, Date.now())).map(({ label }) => label)).toEqual([
        'Demo',
      ]);
    });
  });
}

/** Returns a check that data, people and their tokens are the same after a restart. */
export async function rememberDemo(): Promise<(restarted: DevFile) => Promise<void>> {
  const before = await otherSizes();
  const token = await tokenOf('viewer');
  const viewer = await ask(risk('/api/whoami'), token);
  expect(JSON.parse(viewer.text)).toMatchObject({ roles: ['viewer'], via: 'token' });
  return async (restarted) => {
    dev = restarted;
    await until(async () => (await ask(risk('/api/whoami'), token).catch(() => undefined))?.text === viewer.text);
    expect(await otherSizes()).toEqual(before);
  };
}

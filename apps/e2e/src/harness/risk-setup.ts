import type { Database } from './bundle.ts';
import type { Gateway } from './gateway-process.ts';
import type { HttpAnswer } from './http-exchange.ts';
import { surfaceSetup, type SurfaceSetup, type Variables } from './surface-setup.ts';

/** Processes of surface A on a fresh database, with one organisation. */
export interface RiskSetup extends SurfaceSetup {
  readonly orgId: string;
  /** Adds a person with these roles; returns the id and a key. */
  newPerson(roles: readonly string[], members?: object): Promise<{ id: string; key: string }>;
}

/** Migrates the database and starts two processes on it, as an operator would. */
export async function riskSetup(postgres: Database, env: Variables = {}): Promise<RiskSetup> {
  const setup = await surfaceSetup({
    surface: 'risk-partner',
    postgres,
    processes: 2,
    env: () => ({ RATE_PER_SECOND: '1000000', RATE_BURST: '1000000', ...env }),
  });
  const { admin } = setup;
  const { id } = await admin.ask('POST', '/orgs', { name: 'E2E' });
  const orgId = String(id);
  return {
    ...setup,
    orgId,
    async newPerson(roles, members = {}) {
      const body = { name: `The ${roles.join(' and ')}`, kind: 'human', roles, ...members };
      const person = await admin.ask('POST', `/orgs/${orgId}/people`, body);
      const key = await admin.ask('POST', `/orgs/${orgId}/people/${String(person['id'])}/keys`, { label: 'e2e' });
      return { id: String(person['id']), key: String(key['rawKey']) };
    },
  };
}

/** Sends a request to one process with a key. */
export function askRisk(
  { public: http }: Gateway,
  key: string,
  [method, path]: readonly [string, string],
  { body, headers = {} }: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<HttpAnswer & { readonly body: Readonly<Record<string, unknown>> }> {
  const answer = http.send({
    method,
    path,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // All answers used by these stories are objects.
  return answer as Promise<HttpAnswer & { readonly body: Readonly<Record<string, unknown>> }>;
}

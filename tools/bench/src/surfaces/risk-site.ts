import type { BenchContext } from '../bench-context.ts';
import type { Destination, PlannedRequest } from '../load/load-plan.ts';
import type { RowLoad } from '../rows/row.ts';
import { askAdmin } from './admin.ts';
import { outOfReach, prepareSite, type Site, type SiteOptions } from './site.ts';
import type { Surface } from './surface-process.ts';

export const pageItems = 100;
export const firstPage = `/api/v1/assets?limit=${pageItems}`;

/** One caller has eight requests that look under way: of so many, none has more of 256 connections at a time. */
const PARTNERS = 32;

/** Surface A with one organisation, its owner, and the machine identities of partners. */
export interface RiskSite extends Site {
  readonly surface: Surface;
  readonly orgId: string;
  /** Raw keys. */
  readonly keys: { readonly owner: string; readonly partner: string };
  /** The load of all partners: these requests in random order, each answered with a full page. */
  readonly reads: (requests: readonly PlannedRequest[], headers?: Destination['headers']) => RowLoad;
}

/** The surface as installed: Redis where available, a log line per request, limits on but unreachably high. */
export function installRisk(context: BenchContext, options: SiteOptions): Promise<Site> {
  const env = { ...outOfReach, MCP_ALLOWED_HOSTS: '127.0.0.1' };
  return prepareSite(context, { ...options, surface: 'risk-partner', env });
}

/** The same with an organisation, its owner and partners. */
export async function prepareRiskSite(
  context: BenchContext,
  { partners: count = PARTNERS, ...options }: SiteOptions & { readonly partners?: number },
): Promise<RiskSite> {
  const site = await installRisk(context, options);
  const surface = await site.start();
  const make = async (path: string, body: unknown): Promise<Record<string, string>> =>
    JSON.parse(await askAdmin(surface, { method: 'POST', path, body }));
  const { id: orgId = '' } = await make('/orgs', { name: 'Bench' });
  const keyOf = async (name: string, kind: 'human' | 'machine', role: string): Promise<string> => {
    const person = await make(`/orgs/${orgId}/people`, { name, kind, roles: [role] });
    const { rawKey = '' } = await make(`/orgs/${orgId}/people/${person['id']}/keys`, { label: 'bench' });
    return rawKey;
  };
  const owner = await keyOf('Owner', 'human', 'owner');
  const partners: string[] = [];
  for (let number = 0; number < count; number += 1)
    partners.push(await keyOf(`Partner ${number}`, 'machine', 'partner_read'));
  return {
    ...site,
    surface,
    orgId,
    keys: { owner, partner: partners[0]! },
    reads: (requests, headers) => ({
      destinations: partners.map((key) => ({
        port: surface.port,
        path: firstPage,
        headers: { Authorization: `Bearer ${key}`, ...headers },
      })),
      requests,
      mustSay: `"count":${pageItems}`,
    }),
  };
}

/** Creates something by the API with a key. Returns it; throws unless it was created or changed. */
export const postAs =
  ({ port }: Pick<Surface, 'port'>, key: string) =>
  async (path: string, body: unknown): Promise<Readonly<Record<string, string>>> => {
    const response = await fetch(`http://127.0.0.1:${port}/api${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (response.status > 201) throw new Error(`POST ${path} answered ${response.status}: ${text.slice(0, 400)}`);
    return JSON.parse(text);
  };

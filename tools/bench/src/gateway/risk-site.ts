import type { BenchContext } from '../bench-context.ts';
import { askAdmin } from './gateway-admin.ts';
import type { Gateway } from './gateway-process.ts';
import { prepareSite, type GatewaySite, type SiteOptions } from './gateway-site.ts';

/** Surface A with one organisation, its owner, and a partner's machine identity. */
export interface RiskSite extends GatewaySite {
  readonly surface: Gateway;
  readonly orgId: string;
  /** Raw keys. */
  readonly keys: { readonly owner: string; readonly partner: string };
}

/** The surface as installed: Redis where available, a log line per request, limits on but unreachably high. */
export async function prepareRiskSite(
  context: BenchContext,
  options: Pick<SiteOptions, 'name' | 'redisUrl' | 'checkout' | 'stack'>,
): Promise<RiskSite> {
  const env = { RATE_PER_SECOND: '1000000', RATE_BURST: '1000000', MCP_ALLOWED_HOSTS: '127.0.0.1' };
  const site = await prepareSite(context, { ...options, surface: 'risk-partner', env });
  const surface = await site.start();
  const make = async (path: string, body: unknown): Promise<Record<string, string>> =>
    JSON.parse(await askAdmin({ site, gateway: surface }, { method: 'POST', path, body, expect: 201 }));
  const { id: orgId = '' } = await make('/orgs', { name: 'Bench' });
  const keyOf = async (name: string, kind: 'human' | 'machine', role: string): Promise<string> => {
    const person = await make(`/orgs/${orgId}/people`, { name, kind, roles: [role] });
    const { rawKey = '' } = await make(`/orgs/${orgId}/people/${person['id']}/keys`, { label: 'bench' });
    return rawKey;
  };
  const owner = await keyOf('Owner', 'human', 'owner');
  const partner = await keyOf('Partner', 'machine', 'partner_read');
  return { ...site, surface, orgId, keys: { owner, partner } };
}

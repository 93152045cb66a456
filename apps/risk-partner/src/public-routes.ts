import { openApi, type Guard, type OpenApiDocument, type Route } from '@sealgate/http';
import { mapOutages, mapRouteOutages } from '@sealgate/storage';
import type { RiskCaller } from './domain/caller.ts';
import type { ProveEvidencePorts } from './domain/prove-evidence.ts';
import type { NamedRows } from './domain/read-partner.ts';
import { partnerTools } from './mcp/tools.ts';
import { auditRoutes } from './routes/audit.ts';
import { dashboardRoutes, type DashboardPorts } from './routes/dashboard.ts';
import { evidenceProofRoute } from './routes/evidence-proof.ts';
import { keyRoutes, type KeysPorts } from './routes/keys.ts';
import type { McpServerOptions } from './mcp/mcp-server.ts';
import { mcpRoutes, type McpPorts } from './routes/mcp.ts';
import { peopleRoutes, type PeopleRoutePorts } from './routes/people.ts';
import { partnerRoutes, type PartnerRoutePorts, type PartnerRouteTable } from './routes/partner.ts';
import { publishedRoutes, type PublishedPorts } from './routes/published.ts';
import { summaryRoutes, type SummaryPorts } from './routes/summaries.ts';
import { whoamiRoutes, type WhoamiPorts } from './routes/whoami.ts';

export type PublicPorts = PartnerRoutePorts &
  DashboardPorts &
  ProveEvidencePorts &
  KeysPorts &
  Parameters<typeof auditRoutes>[0] &
  Omit<PublishedPorts, 'describe'> &
  WhoamiPorts &
  SummaryPorts &
  PeopleRoutePorts &
  Omit<McpPorts, 'serverFor'> & {
    /** Reports an unexpected error of a tool call, for the log. */
    readonly onBug: (error: unknown, requestId: string) => void;
    /** The public base URL, if configured. */
    readonly publicUrl: string | undefined;
  };

/** The routes of the public listener, in the order of its description. */
export function publicRoutes(ports: PublicPorts, guard: Pick<Guard<RiskCaller>, 'permits'>): Route<RiskCaller>[] {
  const partner: PartnerRouteTable = new Map(
    [...partnerRoutes(ports)].map(([name, { list, item }]) => [
      name,
      { list: withOutages(list), item: withOutages(item) },
    ]),
  );
  const { whoami, dashboard, organizations } = whoamiRoutes(ports);
  // Outside of a route, so its outages are mapped here.
  const namedRows: Pick<NamedRows, 'idsByRef'> = {
    idsByRef: (...asked) => mapOutages(() => ports.partner.rows.idsByRef(...asked)),
  };
  const tools = partnerTools({ partner, rows: namedRows, whoami, guard, readKeys: ports.readKeys });
  const load = () => import('./mcp/mcp-server.ts'); // With the SDK; see routes/mcp.ts.
  let server: ReturnType<typeof load> | undefined;
  const serverFor: McpPorts['serverFor'] = async (call) => {
    const { mcpServer } = await (server ??= load());
    const onBug: McpServerOptions['onBug'] = (error) => ports.onBug(error, call.requestId);
    return (era, method, held) => mcpServer({ tools, call, held, onBug }, era, method);
  };
  return [
    ...[...partner.values()].flatMap(({ list, item }) => [list, item]),
    whoami,
    ...publishedRoutes({ ...ports, describe: () => partnerDescription(ports.publicUrl) }),
    ...mapRouteOutages([
      ...dashboardRoutes(ports),
      evidenceProofRoute(ports),
      ...auditRoutes(ports),
      ...keyRoutes(ports),
      dashboard,
      organizations,
      ...summaryRoutes(ports),
      ...peopleRoutes(ports),
      ...mcpRoutes({ ...ports, serverFor }),
    ]),
  ];
}

/** Tools wrap the mounted routes, so an outage gives the same error by REST and by MCP. */
const withOutages = (route: Route<RiskCaller>): Route<RiskCaller> => mapRouteOutages([route])[0]!;

export const API_VERSION = '1.0.0';

/** The OpenAPI description of `/api/v1`, as the service serves it. */
export function partnerDescription(publicUrl?: string): OpenApiDocument {
  // Routes use their ports only when a request arrives.
  const collections = [...partnerRoutes({} as PartnerRoutePorts).values()].flatMap(({ list, item }) => [list, item]);
  return openApi({
    title: 'Sealgate partner read',
    version: API_VERSION,
    description:
      'Metadata of risks, controls and evidence, read-only and signed. Every list is an envelope whose evidence_hash and Evidence-Signature can be verified offline. Responses over 1,024 bytes are compressed if Accept-Encoding allows br or gzip; hash and signature are over the uncompressed bytes.',
    routes: [...collections, whoamiRoutes({} as WhoamiPorts).whoami],
    securityScheme: 'Bearer',
    publicUrl,
  });
}

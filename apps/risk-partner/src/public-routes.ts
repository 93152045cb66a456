import type { Guard, Route } from '@sealgate/http';
import { telling503 } from '@sealgate/storage';
import type { RiskCaller } from './domain/caller.ts';
import { partnerTools } from './mcp/tools.ts';
import { partnerDescription } from './partner-description.ts';
import { auditRoutes } from './routes/audit.ts';
import { dashboardRoutes, type DashboardPorts } from './routes/dashboard.ts';
import { keyRoutes, type KeysPorts } from './routes/keys.ts';
import { mcpServer, type McpServerOptions } from './mcp/mcp-server.ts';
import { mcpRoutes, type McpPorts } from './routes/mcp.ts';
import { partnerRoutes, type PartnerRoutePorts, type PartnerRouteTable } from './routes/partner.ts';
import { publishedRoutes, type PublishedPorts } from './routes/published.ts';
import { summaryRoutes, type SummaryPorts } from './routes/summaries.ts';
import { whoamiRoutes, type WhoamiPorts } from './routes/whoami.ts';

export type PublicPorts = PartnerRoutePorts &
  DashboardPorts &
  KeysPorts &
  Parameters<typeof auditRoutes>[0] &
  Omit<PublishedPorts, 'describe'> &
  WhoamiPorts &
  SummaryPorts &
  Omit<McpPorts, 'serverFor'> & {
    /** Told of what no caller of a tool can mend. */
    readonly onBug: (error: unknown, requestId: string) => void;
    /** Where clients reach the service, if that was configured. */
    readonly publicUrl: string | undefined;
  };

/** The routes of the public listener, in the order of its description. */
export function publicRoutes(ports: PublicPorts, guard: Pick<Guard<RiskCaller>, 'permits'>): Route<RiskCaller>[] {
  const partner: PartnerRouteTable = new Map(
    [...partnerRoutes(ports)].map(([name, { list, item }]) => [name, { list: tell(list), item: tell(item) }]),
  );
  const { whoami, dashboard, organizations } = whoamiRoutes(ports);
  const tools = partnerTools({ partner, whoami, guard, readKeys: ports.readKeys });
  const serverFor: McpPorts['serverFor'] = (call) => {
    const onBug: McpServerOptions['onBug'] = (error) => ports.onBug(error, call.requestId);
    return (era, method, held) => mcpServer({ tools, call, held, onBug }, era, method);
  };
  return [
    ...[...partner.values()].flatMap(({ list, item }) => [list, item]),
    whoami,
    ...publishedRoutes({ ...ports, describe: () => partnerDescription(ports.publicUrl) }),
    ...telling503([
      ...dashboardRoutes(ports),
      ...auditRoutes(ports),
      ...keyRoutes(ports),
      dashboard,
      organizations,
      ...summaryRoutes(ports),
      ...mcpRoutes({ ...ports, serverFor }),
    ]),
  ];
}

/** Tools are made of the routes as they are mounted, so that an outage is told alike through both doors. */
const tell = (route: Route<RiskCaller>): Route<RiskCaller> => telling503([route])[0]!;

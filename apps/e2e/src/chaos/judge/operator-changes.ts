import type { Asked } from '../history.ts';
import { Findings, type Check } from './check.ts';
import type { Databases } from './databases.ts';
import { codeIn, outcomeOf } from './keyed-writes.ts';

/** One network that an operator adds at the console, over all attempts. */
interface Order {
  /** The line that told first that it is there, or else the first about it. */
  number: number;
  readonly as: string;
  isTold: boolean;
  made: number;
  unknown: number;
}

interface AuditRow {
  readonly actor: string;
  readonly resource_id: string;
}

/** Of ids that operators and strangers draw. */
const DRAWN = 'op-%';

/** What was told to be made is there, with one audit event that names who asked; what was told to be not made is not. */
export function operatorChanges(): Check {
  const findings = new Findings('every change by an operator at the console is made once, and audited as theirs');
  const orders = new Map<string, Order>();
  let issuer = '';
  return {
    line(line, number) {
      if (line.is === 'known') issuer = line.issuer ?? '';
      if (line.is !== 'asked' || line.act !== 'add-network') return;
      const id = line.sent?.networkId ?? '';
      const order = orders.get(id) ?? { number, as: line.as, isTold: false, made: 0, unknown: 0 };
      orders.set(id, order);
      const breach = attempted(order, line, number);
      if (breach !== undefined) findings.add(`line ${number}: ${id} ${breach}`);
    },
    async close(databases) {
      if (!databases.has('ingest-gateway')) return findings.verdict();
      const { networks, events } = await rowsOf(databases);
      for (const [id, order] of orders) {
        const actors = (events.get(id) ?? []).map(({ actor }) => actor);
        const own = `oidc:${issuer}#${order.as}`;
        findings.judge(breachOf({ id, order, own, actors, isThere: networks.has(id) }));
      }
      for (const id of networks) if (!orders.has(id)) findings.add(`${id} is there, and no operator added it`);
      return findings.verdict();
    },
  };
}

/** Notes what this attempt was told. Returns what cannot be true of it. */
function attempted(order: Order, told: Asked, number: number): string | undefined {
  const exists = codeIn(told.text) === 'ALREADY_EXISTS';
  const outcome = outcomeOf(told);
  const hadMaker = order.made + order.unknown > 0;
  if (outcome === 'unknown') order.unknown += 1;
  if (outcome === 'written') order.made += 1;
  if (!order.isTold && (outcome === 'written' || exists)) Object.assign(order, { number, isTold: true });
  if (exists && !hadMaker) return 'was told to be there, and no attempt can have made it';
  return order.made > 1 ? 'was made a second time' : undefined;
}

async function rowsOf(databases: Databases) {
  const networks = await databases.rows<{ readonly network_id: string }>(
    'ingest-gateway',
    'SELECT network_id FROM ingest.networks WHERE network_id LIKE $1',
    [DRAWN],
  );
  const events = await databases.rows<AuditRow>(
    'ingest-gateway',
    `SELECT actor, resource_id FROM ingest.audit_events WHERE action = 'network.create' AND resource_id LIKE $1`,
    [DRAWN],
  );
  return {
    networks: new Set(networks.map(({ network_id }) => network_id)),
    events: Map.groupBy(events, ({ resource_id }) => resource_id),
  };
}

function breachOf({
  id,
  order: { number, isTold, made, unknown },
  own,
  actors,
  isThere,
}: {
  readonly id: string;
  readonly order: Order;
  readonly own: string;
  readonly actors: readonly string[];
  readonly isThere: boolean;
}): string | undefined {
  const line = `line ${number}: ${id}`;
  if (!isThere) {
    if (isTold) return `${line} was acknowledged and is not there`;
    return actors.length > 0 ? `${line} is in the audit trail and is not there` : undefined;
  }
  if (made + unknown === 0) return `${line} was told to be not made, and is there`;
  if (actors.length !== 1) return `${line} has ${actors.length} audit events`;
  return actors[0] === own ? undefined : `${line} was made by ${own}, and is in the audit trail as by ${actors[0]}`;
}

import type { Group } from './command-spec.ts';
import { auditGroups } from './groups/audit.ts';
import { caseGateGroups } from './groups/case-gate.ts';
import { databaseGroup } from './groups/database.ts';
import { fabricGroup } from './groups/fabric.ts';
import { ingestGatewayGroups } from './groups/ingest-gateway.ts';
import { ledgerGroup } from './groups/ledger.ts';
import { riskPartnerGroups } from './groups/risk-partner.ts';
import { secretsGroup } from './groups/secrets.ts';
import { subscriptionsGroup } from './groups/subscriptions.ts';
import { type GroupRows, rowCommand } from './row-command.ts';

/** By surface. */
export const TABLE: readonly GroupRows[] = [
  ...ingestGatewayGroups,
  ledgerGroup,
  fabricGroup,
  subscriptionsGroup,
  ...caseGateGroups,
  ...riskPartnerGroups,
  ...auditGroups,
  secretsGroup,
  databaseGroup,
];

/** All groups of the command line. */
export const GROUPS: readonly Group[] = TABLE.map((group) => ({
  ...group,
  commands: Object.entries(group.commands).map(([usage, command]) =>
    'operation' in command ? rowCommand(command, { ...group, usage }) : { ...command, usage },
  ),
}));

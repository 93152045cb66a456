import type { CodeCommand, Group } from './command-spec.ts';
import { auditGroups } from './groups/audit.ts';
import { caseGateGroups } from './groups/case-gate.ts';
import { databaseGroup } from './groups/database.ts';
import { ingestGatewayGroups } from './groups/ingest-gateway.ts';
import { ledgerGroup } from './groups/ledger.ts';
import { riskPartnerGroups } from './groups/risk-partner.ts';
import { secretsGroup } from './groups/secrets.ts';
import { type Row, rowCommand } from './row-command.ts';

/** A group as a table: a row for each command that is a request, and others as code. */
export interface GroupRows extends Omit<Group, 'commands'> {
  /** The answers of its rows for people; by default their members. */
  readonly text?: Row['text'];
  /** By name and arguments, such as `get <networkId>`, with the name of a nested group before it. */
  readonly commands: Readonly<Record<string, Row | CodeCommand>>;
}

/** By surface. */
export const TABLE: readonly GroupRows[] = [
  ...ingestGatewayGroups,
  ledgerGroup,
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

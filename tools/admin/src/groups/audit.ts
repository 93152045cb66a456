import { printPages } from '../print-list.ts';
import type { GroupRows, Row } from '../row-command.ts';

const printJson: NonNullable<Row['run']> = async (session, request) => {
  const { value } = await session.api.json(request);
  session.print(`${JSON.stringify(value)}\n`);
};

/** For `sealgate-verify audit`, as well. The case gate uses snake_case. */
const auditRows = (group: string, names: { readonly id: string; readonly request: string }): GroupRows['commands'] => ({
  list: {
    operation: 'listAudit',
    details:
      'PROBLEM is empty where a process of the surface wrote exactly this. no_mac, wrong_mac and unreadable name rows that ' +
      'were inserted or changed in the database; unknown_secret rows whose server secret was removed.',
    examples: [
      `sealgate ${group} list --actor admin:1f2e3d4c --limit 10`,
      `sealgate ${group} list --resource key --id key_01 --from 2030-01-01T00:00:00Z --all --json`,
    ],
    columns: `AT at, ACTOR actor, ACTION action, RESOURCE resource, ID ${names.id}, REQUEST ${names.request}, PROBLEM problem`,
    none: 'There are no matching events.',
  },
  export: {
    operation: 'exportAudit',
    examples: [`sealgate ${group} export --from 2030-03-01T00:00:00Z --to 2030-04-01T00:00:00Z`],
    run: printPages,
  },
  keys: {
    operation: 'listAuditKeys',
    examples: [`sealgate ${group} keys > audit.jwks.json`],
    run: printJson,
  },
});

export const auditGroups: readonly GroupRows[] = [
  {
    name: 'audit',
    summary: 'Changes and exports through the admin listener. Each surface has its own.',
    surfaces: ['ingest-gateway', 'ledger-peer', 'risk-partner'],
    commands: auditRows('audit', { id: 'resourceId', request: 'requestId' }),
  },
  {
    name: 'gate-audit',
    summary: 'The same for the case gate.',
    surfaces: ['case-gate'],
    commands: auditRows('gate-audit', { id: 'resource_id', request: 'request_id' }),
  },
];

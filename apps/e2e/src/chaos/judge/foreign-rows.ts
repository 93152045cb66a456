import { Findings, type Check } from './check.ts';
import type { Databases } from './databases.ts';

/** Ids in answers whose owner the rows tell. */
const IDS = /\b(?:rsk|evd|ast|ctl|pol|case)_[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*\b/g;
const CHANNELS = /"channel":"([^"]+)"/g;
const OF_SENDERS: ReadonlySet<string> = new Set(['write', 'deliver']);

interface Row {
  readonly id: string;
  readonly org_id: string;
  readonly kind: string;
  readonly owner_id: string | null;
  readonly department: string | null;
  readonly sensitive: boolean;
}

interface Person {
  readonly person_id: string;
  readonly org_id: string;
  readonly roles: readonly string[];
  readonly departments: readonly string[];
  readonly unrestricted: boolean;
  readonly can_read_sensitive: boolean;
}

/** No answer names a row of another organisation, environment or network, or one that its caller's filter hides. */
export function foreignRows(): Check {
  const findings = new Findings("nobody saw another's rows");
  /** By caller: the ids that were shown, with the first line of each. */
  const shown = new Map<string, Map<string, number>>();
  return {
    line(line, number) {
      if (line.is !== 'asked' || line.text === undefined) return;
      // A refusal may repeat what its caller named.
      if (line.status === undefined || line.status >= 300) return;
      findings.judged += 1;
      if (line.act === 'foreign')
        findings.add(`line ${number}: ${line.as} was answered ${line.status} for ${line.target}`);
      // Operators see the rows of everybody.
      if (line.surface === 'console') return;
      if (OF_SENDERS.has(line.act))
        for (const channel of foreignChannels(line.text, line.as))
          findings.add(`line ${number}: ${line.as} was shown ${channel}`);
      const ids = line.act === 'check' ? null : line.text.match(IDS);
      if (ids === null) return;
      const ofCaller = shown.get(line.as) ?? new Map<string, number>();
      shown.set(line.as, ofCaller);
      for (const id of ids) if (!ofCaller.has(id)) ofCaller.set(id, number);
    },
    async close(databases) {
      const hides = [await hiddenResources(databases), await hiddenCases(databases)];
      for (const [as, ids] of shown)
        for (const [id, number] of ids)
          if (hides.some((isHidden) => isHidden(as, id))) findings.add(`line ${number}: ${as} was shown ${id}`);
      return findings.verdict();
    },
  };
}

const foreignChannels = (text: string, networkId: string): string[] =>
  [...text.matchAll(CHANNELS)].flatMap(([, channel = '']) => (channel.startsWith(`${networkId}.`) ? [] : [channel]));

type Hides = (as: string, id: string) => boolean;

async function hiddenCases(databases: Databases): Promise<Hides> {
  if (!databases.has('case-gate')) return () => false;
  const rows = await databases.rows<{ id: string; environment: string }>(
    'case-gate',
    'SELECT case_id AS id, environment FROM gate.cases',
  );
  const environments = new Map(rows.map(({ id, environment }) => [id, environment]));
  return (as, id) => environments.has(id) && environments.get(id) !== as;
}

const SEES_ALL = ['owner', 'admin', 'risk_manager', 'auditor'];
const READS_SENSITIVE = ['owner', 'admin', 'risk_manager'];
const FILTERED: ReadonlySet<string> = new Set(['risk', 'evidence', 'asset']);

/** The row filters of the risk partner, as its contract has them; people and rows as they are at the end. */
async function hiddenResources(databases: Databases): Promise<Hides> {
  if (!databases.has('risk-partner')) return () => false;
  const rows = await databases.rows<Row>(
    'risk-partner',
    'SELECT id, org_id, kind, owner_id, department, sensitive FROM risk.resources',
  );
  const people = await databases.rows<Person>(
    'risk-partner',
    'SELECT person_id, org_id, roles, departments, unrestricted, can_read_sensitive FROM risk.people',
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const byPerson = new Map(people.map((person) => [person.person_id, person]));
  return (as, id) => {
    const row = byId.get(id);
    const [orgId = '', personId = ''] = as.split('/');
    if (row === undefined) return false;
    if (row.org_id !== orgId) return true;
    const person = byPerson.get(personId);
    return person !== undefined && FILTERED.has(row.kind) && !maySee(person, row);
  };
}

function maySee(person: Person, row: Row): boolean {
  if (row.owner_id === person.person_id) return true;
  const has = (roles: readonly string[]) => person.roles.some((role) => roles.includes(role));
  const isInScope = person.unrestricted || has(SEES_ALL) || person.departments.includes(row.department ?? '');
  return isInScope && (!row.sensitive || person.can_read_sensitive || has(READS_SENSITIVE));
}

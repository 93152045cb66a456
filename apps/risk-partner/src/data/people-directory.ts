import { COUNT_LIMIT, isFound, sortText } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import type { Member } from '../domain/manage-orgs.ts';
import { ROLES } from '../domain/permissions.ts';
import type { PeopleDirectory, PeoplePage } from '../domain/people-directory.ts';
import type { Place } from '../domain/resource-ports.ts';

/** Names read at a time: an organisation has hundreds or thousands of people, so that no index of names is kept. */
const NAMES_AT_ONCE = 10_000;

const ofOrg = 'p.org_id = $1 AND p.removed_at IS NULL';

interface NameRow {
  id: string;
  name: string;
  created_at: Date;
}

interface PersonRow {
  id: string;
  name: string;
  kind: string;
  roles: string[];
  unrestricted: boolean;
  departments: string[];
  can_read_sensitive: boolean;
}

/**
 * The people of an organisation, without removed ones, as its members see them. Each statement is planned for its
 * organisation: one plan for all might walk the people of every other one.
 */
export function peopleDirectory(sql: Sql): PeopleDirectory {
  return {
    async list(orgId, page) {
      const { places, counted } =
        page.q === undefined && page.sorting.field === 'createdAt' && !page.sorting.descending
          ? await oldestFirst(sql, orgId, page)
          : await amongNames(sql, orgId, page);
      const ids = places.map(({ id }) => id);
      const text = `SELECT p.person_id AS id, p.name, p.kind, p.roles, p.unrestricted, p.departments, p.can_read_sensitive
          FROM risk.people p WHERE ${ofOrg} AND p.person_id = ANY ($2::text[])`;
      const rows = await sql.query<PersonRow>({ text, values: [orgId, ids] });
      const members = new Map(rows.map((row) => [row.id, memberOf(row)]));
      return { found: places.map((place) => ({ place, member: members.get(place.id) })), counted };
    },
  };
}

interface Places {
  readonly places: readonly Place[];
  readonly counted: number;
}

async function oldestFirst(sql: Sql, orgId: string, { limit, after }: PeoplePage): Promise<Places> {
  const names = await namesAfter(sql, orgId, { limit, after });
  const text = `SELECT count(*)::integer AS counted FROM (SELECT FROM risk.people p WHERE ${ofOrg} LIMIT ${COUNT_LIMIT}) p`;
  const [row] = await sql.query<{ counted: number }>({ text, values: [orgId] });
  return { places: names.map(placeOf), counted: row!.counted };
}

/** The people who have the words of `q` in id or name, sorted here. */
async function amongNames(sql: Sql, orgId: string, { q, sorting, limit, after }: PeoplePage): Promise<Places> {
  const found: Place[] = [];
  for (let names: NameRow[] = [], last: Place | undefined; ; last = placeOf(names.at(-1)!)) {
    names = await namesAfter(sql, orgId, { limit: NAMES_AT_ONCE, after: last });
    for (const row of names)
      if (q === undefined || isFound(q, [row.id, row.name]))
        found.push(sorting.field === 'name' ? { id: row.id, value: sortText(row.name) } : placeOf(row));
    if (names.length < NAMES_AT_ONCE) break;
  }
  const compare = compareBy(sorting.descending);
  found.sort(compare);
  const from = after === undefined ? 0 : found.findIndex((place) => compare(place, after) > 0);
  return { places: from < 0 ? [] : found.slice(from, from + limit), counted: Math.min(found.length, COUNT_LIMIT) };
}

/** By value, then by id, both in code points. */
const compareBy =
  (descending: boolean) =>
  (a: Place, b: Place): number =>
    (byCodePoints(a.value, b.value) || byCodePoints(a.id, b.id)) * (descending ? -1 : 1);
const byCodePoints = (a: Place['value'], b: Place['value']): number =>
  Buffer.compare(Buffer.from(`${a}`), Buffer.from(`${b}`));

async function namesAfter(
  sql: Sql,
  orgId: string,
  { limit, after }: { readonly limit: number; readonly after: Place | undefined },
): Promise<NameRow[]> {
  // Ids begin with their time, so their order is that of creation.
  const text = `SELECT p.person_id AS id, p.name, p.created_at FROM risk.people p
     WHERE ${ofOrg} AND p.person_id > $2 ORDER BY p.person_id LIMIT $3`;
  return sql.query<NameRow>({ text, values: [orgId, after?.id ?? '', limit] });
}

const placeOf = ({ id, created_at: at }: NameRow): Place => ({ id, value: at.toISOString() });

const memberOf = ({ id, name, kind, roles, unrestricted, departments, can_read_sensitive }: PersonRow): Member => ({
  id,
  name,
  kind: kind === 'machine' ? 'machine' : 'human',
  roles: ROLES.filter((role) => roles.includes(role)),
  scope: { unrestricted, departments, canReadSensitive: can_read_sensitive },
});

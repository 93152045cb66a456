import type { RiskCaller } from '../domain/caller.ts';
import { mayDo } from '../domain/permissions.ts';

/** The names of people of an organisation by their ids, without removed ones. */
export type PersonNames = (orgId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** The members of a row that hold the id of a person, and those that an export has beside them, for the name. */
const NAME_BESIDE: Readonly<Record<string, string>> = {
  ownerId: 'ownerName',
  collectedBy: 'collectedByName',
  reviewedBy: 'reviewedByName',
  acceptedBy: 'acceptedByName',
  actorId: 'actorName',
};

/** How many names an export remembers before it begins anew. */
const MAX_NAMES = 10_000;

interface Exported {
  readonly columns: readonly string[];
  readonly pages: AsyncIterable<readonly object[]>;
}

/**
 * An export with the name of each person beside their id; null where there is none, and for those who may not read the
 * members of the organisation.
 */
export function withPersonNames(
  { columns, pages }: Exported,
  { orgId, roles }: Pick<RiskCaller, 'orgId' | 'roles'>,
  personNames: PersonNames,
): Exported {
  const mayRead = mayDo(roles, 'member:read');
  const known = new Map<string, string | null>();
  const learn = async (ids: readonly string[]): Promise<void> => {
    if (known.size > MAX_NAMES) known.clear();
    const unknown = [...new Set(ids)].filter((id) => !known.has(id));
    if (unknown.length === 0) return;
    const names = await personNames(orgId, unknown);
    for (const id of unknown) known.set(id, names.get(id) ?? null);
  };
  const named = (row: object): object => besides(row, (id) => known.get(id) ?? null);
  async function* namedPages() {
    for await (const rows of pages) {
      if (mayRead) await learn(rows.flatMap(idsIn));
      yield rows.map(named);
    }
  }
  return { columns: columns.flatMap(withNameColumn), pages: namedPages() };
}

function withNameColumn(column: string): string[] {
  const at = column.lastIndexOf('.') + 1;
  const beside = NAME_BESIDE[column.slice(at)];
  return beside === undefined ? [column] : [column, column.slice(0, at) + beside];
}

const isMembers = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const idsIn = (row: object): string[] =>
  Object.entries(row).flatMap(([member, value]: [string, unknown]) => {
    if (isMembers(value)) return idsIn(value);
    return member in NAME_BESIDE && typeof value === 'string' ? [value] : [];
  });

const besides = (row: object, nameOf: (id: string) => string | null): object =>
  Object.fromEntries(
    Object.entries(row).flatMap(([member, value]: [string, unknown]): [string, unknown][] => {
      if (isMembers(value)) return [[member, besides(value, nameOf)]];
      const beside = NAME_BESIDE[member];
      if (beside === undefined) return [[member, value]];
      return [
        [member, value],
        [beside, typeof value === 'string' ? nameOf(value) : null],
      ];
    }),
  );

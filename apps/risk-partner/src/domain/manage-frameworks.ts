import { AppError, refusedMember } from '@sealgate/errors';
import { canonical } from '@sealgate/json';
import type { TableList } from '@sealgate/paging';
import { closedObject, lineOfText, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { Short, Text, Time, Title } from '../schemas.ts';
import { adminEntry, noSuchOrg, type AdminContext, type NamedOrder, type OrgPorts } from './manage-orgs.ts';
import { newOf, shown } from './model.ts';
import { refusePersonalData } from './personal-data.ts';
import type { AuditEntry } from './resource-ports.ts';

const requirement = { id: lineOfText({ min: 1, max: 64 }), title: lineOfText({ min: 1, max: 500 }) };
const Requirement = named('Requirement', Type.Object(shown(requirement)));
const framework = { id: Text, name: Title, version: Short, createdAt: Time, requirements: Type.Array(Requirement) };
/** Requirements are in the given order. */
export const Framework = named('Framework', Type.Object(shown(framework)));
export type Framework = Static<typeof Framework>;
export const ListedFramework = named('ListedFramework', Type.Omit(Framework, ['requirements']));
type ListedFramework = Static<typeof ListedFramework>;

const requirements = Type.Array(named('NewRequirement', closedObject(requirement)), { minItems: 1, maxItems: 2000 });
const name = { ...Title, description: 'Its name.' };
const version = { ...Short, description: 'Its edition.' };
export const NewFramework = newOf({ ...framework, name, version, requirements }, ['name', 'version', 'requirements']);
type NewFramework = Static<typeof NewFramework>;

export interface FrameworkStore {
  /** False if the organisation has a framework of that name and version. `item` is what partners see. */
  insert(orgId: string, framework: StoredFramework): Promise<boolean>;
  find(orgId: string, id: string): Promise<Framework | undefined>;
  readonly list: TableList<{ readonly orgId: string }, ListedFramework, NamedOrder>;
}

/** A framework to write; `at` builds it with the time of its transaction. */
interface StoredFramework {
  at(nowMs: number): { readonly framework: Framework; readonly item: string; readonly coverageIds: readonly string[] };
  readonly entry: AuditEntry;
}

export interface FrameworkPorts extends OrgPorts {
  readonly frameworks: FrameworkStore;
}

/** @throws AppError NOT_FOUND, INVALID_REQUEST, PERSONAL_DATA_REFUSED, ALREADY_EXISTS. */
export async function createFramework(
  ports: FrameworkPorts,
  orgId: string,
  { body, by }: { readonly body: NewFramework; readonly by: AdminContext },
): Promise<Framework> {
  if ((await ports.orgs.find(orgId)) === undefined) throw noSuchOrg();
  checkRequirements(body);
  const id = ports.newId('fwk_');
  const base = ports.newId('cov_');
  let made: Framework | undefined;
  const inserted = await ports.frameworks.insert(orgId, {
    entry: adminEntry('framework', 'create', id, by),
    at(nowMs) {
      const createdAt = new Date(nowMs).toISOString();
      made = { id, ...body, createdAt };
      const { name, version, requirements } = body;
      const item = canonical({ id, name, version, requirementCount: requirements.length, createdAt });
      // Ids in the given order, which is the order of pagination.
      const coverageIds = requirements.map((_, index) => base + String(index).padStart(4, '0'));
      return { framework: made, item, coverageIds };
    },
  });
  if (!inserted || made === undefined)
    throw refusedMember(
      'ALREADY_EXISTS',
      '/version',
      'The organisation already has a framework of that name and version.',
    );
  return made;
}

function checkRequirements({ name, version, requirements }: NewFramework): void {
  const seen = new Set<string>();
  const faults = requirements.flatMap(({ id }, index) => {
    const isNew = !seen.has(id);
    seen.add(id);
    return isNew
      ? []
      : [{ in: 'body' as const, pointer: `/requirements/${index}/id`, detail: 'repeats the id of a requirement' }];
  });
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', 'The ids of requirements must be unique.', { faults });
  const ofRequirements = requirements.flatMap(({ id, title }, index) => [
    [`/requirements/${index}/id`, id] as const,
    [`/requirements/${index}/title`, title] as const,
  ]);
  refusePersonalData({ '/name': name, '/version': version, ...Object.fromEntries(ofRequirements) });
}

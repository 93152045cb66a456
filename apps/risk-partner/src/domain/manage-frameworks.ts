import { AppError } from '@sealgate/errors';
import { canonical } from '@sealgate/json';
import { adminDeed, noSuchOrg, type Administering, type OrgPorts } from './manage-orgs.ts';
import { refusePersonalData } from './personal-data.ts';
import type { Deed } from './resource-ports.ts';

export interface Requirement {
  readonly id: string;
  readonly title: string;
}

export interface Framework {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly createdAt: string;
  readonly requirements: readonly Requirement[];
}

export interface FrameworkStore {
  /** Undefined when the organisation has a framework of that name and version. `item` is what partners are shown. */
  insert(orgId: string, framework: StoredFramework): Promise<boolean>;
  find(orgId: string, id: string): Promise<Framework | undefined>;
  list(
    orgId: string,
    page: { readonly limit: number; readonly after: string },
  ): Promise<Omit<Framework, 'requirements'>[]>;
}

/** A framework as it is written, made at the moment that its transaction gives. */
export interface StoredFramework {
  at(nowMs: number): { readonly framework: Framework; readonly item: string; readonly coverageIds: readonly string[] };
  readonly deed: Deed;
}

export interface FrameworkPorts extends OrgPorts {
  readonly frameworks: FrameworkStore;
}

export type NewFramework = Pick<Framework, 'name' | 'version' | 'requirements'>;

/** @throws AppError NOT_FOUND, INVALID_REQUEST, PERSONAL_DATA_REFUSED, ALREADY_EXISTS. */
export async function createFramework(
  ports: FrameworkPorts,
  orgId: string,
  { body, by }: { readonly body: NewFramework; readonly by: Administering },
): Promise<Framework> {
  if ((await ports.orgs.find(orgId)) === undefined) throw noSuchOrg();
  checkRequirements(body);
  const id = ports.newId('fwk_');
  const base = ports.newId('cov_');
  let made: Framework | undefined;
  const inserted = await ports.frameworks.insert(orgId, {
    deed: adminDeed('framework', 'create', id, by),
    at(nowMs) {
      const createdAt = new Date(nowMs).toISOString();
      made = { id, ...body, createdAt };
      const { name, version, requirements } = body;
      const item = canonical({ id, name, version, requirementCount: requirements.length, createdAt });
      // In the order in which they were given, which is the order they are walked in.
      const coverageIds = requirements.map((_, index) => base + String(index).padStart(4, '0'));
      return { framework: made, item, coverageIds };
    },
  });
  if (!inserted || made === undefined)
    throw new AppError('ALREADY_EXISTS', 'The organisation has a framework of that name and version.');
  return made;
}

function checkRequirements({ name, version, requirements }: NewFramework): void {
  const seen = new Set<string>();
  const faults = requirements.flatMap(({ id }, index) => {
    const isNew = !seen.has(id);
    seen.add(id);
    return isNew
      ? []
      : [{ in: 'body' as const, pointer: `/requirements/${index}/id`, detail: 'names a requirement twice' }];
  });
  if (faults.length > 0) throw new AppError('INVALID_REQUEST', 'Each requirement has an id of its own.', { faults });
  const ofRequirements = requirements.flatMap(({ id, title }, index) => [
    [`/requirements/${index}/id`, id] as const,
    [`/requirements/${index}/title`, title] as const,
  ]);
  refusePersonalData({ '/name': name, '/version': version, ...Object.fromEntries(ofRequirements) });
}

import { searchText, sortText, tableList } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import type { FrameworkStore } from '../domain/manage-frameworks.ts';
import type { Framework as FrameworkRow } from '../generated/prisma/client.ts';
import { sqlOf, type OpenPrisma } from './orgs-store.ts';
import { addOpenChange, nextRevision } from './revisions.ts';
import type { WriteEntry } from '../audited-changes.ts';

/** Frameworks and their requirements in PostgreSQL. */
export function frameworksStore(
  openPrisma: OpenPrisma,
  { look, now, write }: { readonly look: Sql; readonly now: () => number; readonly write: WriteEntry },
): FrameworkStore {
  return {
    insert: async (orgId, { at, entry }) =>
      (await openPrisma())
        .$transaction(async (transaction) => {
          const sql = sqlOf(transaction);
          const { revision, nowMs } = await nextRevision(sql, orgId, now());
          const { framework, item, coverageIds } = at(nowMs);
          const { id: frameworkId, name, version, requirements } = framework;
          const same = await transaction.framework.count({ where: { orgId, name, version } });
          if (same > 0) throw new SameFramework();
          const createdAt = new Date(nowMs);
          const texts = { folded: searchText([frameworkId, name, version]), sortedName: sortText(name) };
          await transaction.framework.create({
            data: { frameworkId, orgId, name, version, createdAt, item, ...texts },
          });
          await transaction.requirement.createMany({
            data: requirements.map(({ id: requirementId, title }, index) => ({
              coverageId: coverageIds[index]!,
              orgId,
              frameworkId,
              requirementId,
              title,
              createdAt,
              fromRevision: BigInt(revision),
            })),
          });
          await addOpenChange({ sql, orgId, revision }, 'framework', 1);
          await addOpenChange({ sql, orgId, revision }, 'coverage', requirements.length);
          await write(sql, orgId, entry);
          return true;
        })
        .catch((error: unknown) => {
          if (error instanceof SameFramework) return false;
          throw error;
        }),
    async find(orgId, frameworkId) {
      const prisma = await openPrisma();
      const row = await prisma.framework.findUnique({ where: { frameworkId, orgId } });
      if (row === null) return undefined;
      const requirements = await prisma.requirement.findMany({
        where: { frameworkId },
        orderBy: { coverageId: 'asc' },
      });
      const shown = requirements.map(({ requirementId: id, title }) => ({ id, title }));
      return { ...frameworkOf(row), requirements: shown };
    },
    list: tableList(look, {
      from: 'risk.frameworks l',
      columns: 'l.framework_id AS "frameworkId", l.name, l.version, l.created_at AS "createdAt"',
      id: 'l.framework_id',
      // Ids begin with their time.
      orders: { createdAt: { by: 'l.framework_id', type: 'text' }, name: { by: 'l.sorted_name', type: 'text' } },
      whereOf: ({ orgId }: { readonly orgId: string }) => ({ conditions: [['l.org_id = $', orgId]] }),
      read: frameworkOf,
    }),
  };
}

/**
 * Rolls back the new revision. The organisation is locked, so no concurrent transaction can write the same framework.
 */
class SameFramework extends Error {}

function frameworkOf({
  frameworkId: id,
  name,
  version,
  createdAt,
}: Pick<FrameworkRow, 'frameworkId' | 'name' | 'version' | 'createdAt'>) {
  return { id, name, version, createdAt: createdAt.toISOString() };
}

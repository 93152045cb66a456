import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { withoutPersonalData } from '../domain/partner-item.ts';
import type { PartnerItem, PartnerSource } from '../domain/read-partner.ts';
import type { PartnerSourceOptions } from './partner-resources.ts';
import { prepared } from './prepared.ts';
import { rowCondition } from './row-condition.ts';

/** Frameworks; everybody of the organisation sees all of them. */
export function partnerFrameworks({ sql, onMasked }: Pick<PartnerSourceOptions, 'sql' | 'onMasked'>): PartnerSource {
  const read = async (scope: RowScope, more: (values: unknown[]) => string): Promise<PartnerItem[]> => {
    const rows = await readFrameworks(sql, scope, more);
    return rows.map(({ id, created_at: createdAt, item }) => ({
      id,
      createdAt: createdAt.toISOString(),
      text: withoutPersonalData('frameworks', item, onMasked),
    }));
  };
  return {
    list: (scope, { limit, after }) =>
      read(scope, (values) => {
        const behind =
          after === undefined
            ? ''
            : `AND (f.created_at, f.framework_id) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(after.id)}::text)`;
        return `${behind} ORDER BY f.created_at, f.framework_id LIMIT $${values.push(limit)}`;
      }),
    find: async (scope, id) => (await read(scope, (values) => `AND f.framework_id = $${values.push(id)}`))[0],
  };
}

function readFrameworks(sql: Sql, scope: RowScope, more: (values: unknown[]) => string) {
  const values: unknown[] = [];
  const condition = rowCondition('f', scope, values, false);
  const text = `SELECT f.framework_id AS id, f.created_at, f.item FROM risk.frameworks f WHERE ${condition} ${more(values)}`;
  return sql.query<{ id: string; created_at: Date; item: string }>(prepared(text, values));
}

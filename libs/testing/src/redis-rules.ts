import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export type RedisForm = 'single' | 'sentinel' | 'cluster';

const PAGE = resolve(import.meta.dirname, '../../../infra/operations/run-on-redis.md');
const HEADINGS: Readonly<Record<RedisForm, string>> = {
  single: 'One server',
  sentinel: 'Sentinel',
  cluster: 'Cluster',
};

/** The user of the sentinels on the operators' page. */
export const SENTINEL_USER = 'sealgate';

/** The rules of users that the operators' page has for a form, without `ACL SETUSER`. */
export function redisRules(form: RedisForm): { readonly servers: string[]; readonly sentinels: string[] } {
  const section = readFileSync(PAGE, 'utf8')
    .split(/^### /m)
    .find((part) => part.startsWith(`${HEADINGS[form]}\n`));
  const rules = [...(section ?? '').matchAll(/^ACL SETUSER (.+)$/gm)].map(([, rule = '']) => rule);
  if (rules.length === 0) throw new Error(`${PAGE} has no rules for ${form}.`);
  const isOfSentinels = (rule: string): boolean => rule.startsWith(`${SENTINEL_USER} `);
  return { servers: rules.filter((rule) => !isOfSentinels(rule)), sentinels: rules.filter(isOfSentinels) };
}

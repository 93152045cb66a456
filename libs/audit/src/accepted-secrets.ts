import type { HashedSecrets } from '@sealgate/auth';
import type { Log } from '@sealgate/observability';
import type { Sql } from '@sealgate/storage';

/** A token or key that an operator configured by its hash. */
export interface AcceptedSecret {
  /** The configuration variable. */
  readonly variable: string;
  /** The first digits of its hash. */
  readonly id: string;
  /** Number of reporting processes that accept it, and that do not. */
  readonly accepts: number;
  readonly unaware: number;
  /** To the minute; null if it was never presented. */
  readonly lastUsedAt: string | null;
}

/** The secrets this process accepts, named `VARIABLE:id` as in the tables. */
export interface OwnAccepted {
  readonly names: readonly string[];
  /** Names presented since the last `recorded`. */
  used(): readonly string[];
  /** Call after the names were written to the database. */
  recorded(): void;
}

export function ownAccepted(accepted: Readonly<Record<string, HashedSecrets>>, log: Log): OwnAccepted {
  const used = new Set<string>();
  let reportedProblem = '';
  const namesOf = (of: (secrets: HashedSecrets) => readonly string[]): string[] =>
    Object.entries(accepted).flatMap(([variable, secrets]) => of(secrets).map((id) => `${variable}:${id}`));
  return {
    get names() {
      return namesOf(({ ids }) => ids);
    },
    used() {
      for (const name of namesOf((secrets) => secrets.takeUsed())) used.add(name);
      return [...used];
    },
    recorded() {
      used.clear();
      const problems = Object.entries(accepted).flatMap(([variable, { problem: why }]) =>
        why === undefined ? [] : [`${variable}: ${why}`],
      );
      const problem = problems.join('; ');
      if (problem !== '' && problem !== reportedProblem) log.error('accepted_secrets_unread', { reason: problem });
      reportedProblem = problem;
    },
  };
}

/** The secrets accepted by the processes; `accepts` is null for a version that does not report them. */
export async function acceptedBy(
  sql: Sql,
  schema: string,
  holders: readonly { readonly accepts: readonly string[] | null }[],
): Promise<AcceptedSecret[]> {
  const reporting = holders.flatMap(({ accepts }) => (accepts === null ? [] : [accepts]));
  const names = [...new Set(reporting.flat())].sort();
  const rows = await sql.query<{ name: string; last_used_at: Date }>({
    text: `SELECT name, last_used_at FROM ${schema}.accepted_secrets WHERE name = ANY ($1)`,
    values: [names],
  });
  return names.map((name) => {
    const [variable = '', id = ''] = name.split(':');
    const accepts = reporting.filter((accepted) => accepted.includes(name)).length;
    const lastUsedAt = rows.find((row) => row.name === name)?.last_used_at.toISOString() ?? null;
    return { variable, id, accepts, unaware: reporting.length - accepts, lastUsedAt };
  });
}

/** Rows are written in name order, so that two processes cannot deadlock. */
export const usedStatement = (schema: string, { names, at }: Readonly<Record<'names' | 'at', string>>): string =>
  `INSERT INTO ${schema}.accepted_secrets AS a (name, last_used_at)
     SELECT name, ${at}::timestamptz FROM unnest(${names}::text[]) name ORDER BY 1
     ON CONFLICT (name) DO UPDATE SET last_used_at = greatest(a.last_used_at, EXCLUDED.last_used_at)`;

import type { HashedSecrets } from '@sealgate/auth';
import type { Log } from '@sealgate/observability';
import type { Sql } from '@sealgate/storage';

/** A token or key that an operator configured by its hash. */
export interface AcceptedSecret {
  /** The variable that it stands in. */
  readonly variable: string;
  /** The first digits of its hash. */
  readonly id: string;
  /** How many of the processes that tell accept it, and do not. */
  readonly accepts: number;
  readonly unaware: number;
  /** To the minute; null where nobody has presented it. */
  readonly lastUsedAt: string | null;
}

/** What this process accepts, as the tables call it: `VARIABLE:id`. */
export interface OwnAccepted {
  readonly names: readonly string[];
  /** What was presented, and not told yet. */
  used(): readonly string[];
  /** It is in the database now. */
  told(): void;
}

export function ownAccepted(accepted: Readonly<Record<string, HashedSecrets>>, log: Log): OwnAccepted {
  const used = new Set<string>();
  let toldProblem = '';
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
    told() {
      used.clear();
      const problems = Object.entries(accepted).flatMap(([variable, { problem: why }]) =>
        why === undefined ? [] : [`${variable}: ${why}`],
      );
      const problem = problems.join('; ');
      if (problem !== '' && problem !== toldProblem) log.error('accepted_secrets_unread', { reason: problem });
      toldProblem = problem;
    },
  };
}

/** What the processes accept; `accepts` is null for one of a version that does not tell. */
export async function acceptedBy(
  sql: Sql,
  schema: string,
  holders: readonly { readonly accepts: readonly string[] | null }[],
): Promise<AcceptedSecret[]> {
  const tellers = holders.flatMap(({ accepts }) => (accepts === null ? [] : [accepts]));
  const names = [...new Set(tellers.flat())].sort();
  const rows = await sql.query<{ name: string; last_used_at: Date }>({
    text: `SELECT name, last_used_at FROM ${schema}.accepted_secrets WHERE name = ANY ($1)`,
    values: [names],
  });
  return names.map((name) => {
    const [variable = '', id = ''] = name.split(':');
    const accepts = tellers.filter((told) => told.includes(name)).length;
    const lastUsedAt = rows.find((row) => row.name === name)?.last_used_at.toISOString() ?? null;
    return { variable, id, accepts, unaware: tellers.length - accepts, lastUsedAt };
  });
}

/** In one order, so that two processes never wait for each other. */
export const usedStatement = (schema: string, { names, at }: Readonly<Record<'names' | 'at', string>>): string =>
  `INSERT INTO ${schema}.accepted_secrets AS a (name, last_used_at)
     SELECT name, ${at}::timestamptz FROM unnest(${names}::text[]) name ORDER BY 1
     ON CONFLICT (name) DO UPDATE SET last_used_at = greatest(a.last_used_at, EXCLUDED.last_used_at)`;

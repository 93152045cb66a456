import { BoundedMap } from '@sealgate/api-keys';
import type { Log } from '@sealgate/observability';
import { reasonOf, type Sql } from '@sealgate/storage';

/** What people who sign in are called, for display beside the actors of events. */
export interface ActorNames {
  /** Keeps the name of somebody who signed in. Never throws: it is written beside the request. */
  note(actor: string, name: string): void;
  /** The names of those actors that have one, by actor. */
  of(sql: Sql, actors: readonly string[]): Promise<Record<string, string>>;
}

const MOST_REMEMBERED = 1_000;

/** `sql` writes the names. A name that this process has written is not written again. */
export function actorNames({
  schema,
  sql,
  log,
}: {
  readonly schema: string;
  readonly sql: Sql;
  readonly log: Pick<Log, 'warn'>;
}): ActorNames {
  const remembered = new BoundedMap<string, string>(MOST_REMEMBERED);
  const write = async (actor: string, name: string): Promise<void> => {
    try {
      await sql.query({
        text: `INSERT INTO ${schema}.actor_names AS a (actor, name) VALUES ($1, $2)
               ON CONFLICT (actor) DO UPDATE SET name = EXCLUDED.name WHERE a.name <> EXCLUDED.name`,
        values: [actor, name],
      });
    } catch (error) {
      remembered.delete(actor);
      log.warn('actor_name_unsaved', { reason: reasonOf(error) });
    }
  };
  return {
    note(actor, name) {
      if (remembered.get(actor) === name) return;
      remembered.set(actor, name);
      void write(actor, name);
    },
    async of(sql, actors) {
      const text = `SELECT actor, name FROM ${schema}.actor_names WHERE actor = ANY ($1::text[])`;
      const rows = await sql.query<{ actor: string; name: string }>({ text, values: [actors] });
      return Object.fromEntries(rows.map(({ actor, name }) => [actor, name]));
    },
  };
}

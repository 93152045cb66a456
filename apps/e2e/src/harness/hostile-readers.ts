import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import type { HttpClient } from './http-client.ts';

const apps = resolve(import.meta.dirname, '../../..');

interface Operation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: Schema;
}

interface Schema {
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly $ref?: string;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/**
 * Every path that a document has for GET, with each filter alone: what a hostile reader asks for, found by the list and
 * not by us. `known` has the parameters of paths that name what exists, and of filters that match something.
 */
export function lookingPaths(
  surface: string,
  file: 'openapi.json' | 'admin-openapi.json',
  known: Readonly<Record<string, string>>,
): string[] {
  const document = JSON.parse(readFileSync(join(apps, surface, file), 'utf8')) as Document;
  const resolved = <Value>(value: Value | { readonly $ref: string }): Value => {
    const reference = (value as { readonly $ref?: string }).$ref;
    if (reference === undefined) return value as Value;
    const [, , kind = '', name = ''] = reference.split('/');
    return document.components[kind]?.[name] as Value;
  };
  return Object.entries(document.paths).flatMap(([template, { get }]) => {
    // A live tail never ends.
    if (get === undefined || template.endsWith('/tail')) return [];
    const path = template.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(known[name] ?? 'nosuch'));
    const parameters = (get.parameters ?? []).map(resolved<Parameter>);
    const filters = parameters.filter((one) => one.in === 'query' && one.name !== 'limit' && one.name !== 'cursor');
    const values = ({ name, schema }: Parameter): readonly unknown[] => {
      const { enum: choices, format } = resolved<Schema>(schema);
      if (choices !== undefined) return choices;
      if (format === 'date-time') return ['2026-01-01T00:00:00Z'];
      return name in known ? [known[name], 'nosuch'] : ['nosuch'];
    };
    const queries = filters.flatMap((filter) =>
      values(filter).map((value) => `${filter.name}=${encodeURIComponent(String(value))}`),
    );
    const paged = parameters.some(({ name }) => name === 'limit') ? 'limit=200' : '';
    return ['', ...queries].map((query) => {
      const all = [paged, query].filter((part) => part !== '').join('&');
      return all === '' ? path : `${path}?${all}`;
    });
  });
}

/** Rows in one statement: what it changes is held in memory until its triggers have run. */
const PORTION = 50_000;

/** Adds copies of the newest row of a table, as its doors made it, with these columns set; `g` counts the copies. */
export async function copyRows(
  url: string,
  {
    table,
    count,
    set,
    from = 'true',
  }: { table: string; count: number; set: Readonly<Record<string, string>>; from?: string },
): Promise<void> {
  const client = new pg.Client({ connectionString: url, query_timeout: 600_000 });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT a.attname AS name FROM pg_attribute a
        WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity = ''`,
      [table],
    );
    const names = rows.map(({ name }) => name);
    const values = names.map((name) => set[name] ?? `t.${name}`);
    // All portions are of the same row: the newest one would be a copy.
    await client.query(`CREATE TEMP TABLE model AS SELECT * FROM ${table} WHERE ${from} LIMIT 1`);
    for (let first = 1; first <= count; first += PORTION) {
      const last = Math.min(first + PORTION - 1, count);
      const { rowCount } = await client.query(
        `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')}
           FROM model t, generate_series(${first}, ${last}) g`,
      );
      if (rowCount !== last - first + 1) throw new Error(`${table} has no row to copy.`);
    }
    await client.query(`VACUUM ANALYZE ${table}`);
  } finally {
    await client.end();
  }
}

/** What somebody who does no harm does over and over; false where it was refused. */
type Deed = () => Promise<boolean>;

interface Outcome {
  readonly done: number;
  readonly refused: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Repeats the deeds, each by two people, for a while. */
async function repeat(deeds: readonly Deed[], seconds: number): Promise<Outcome> {
  const endsAt = performance.now() + seconds * 1000;
  const tookMs: number[] = [];
  let refused = 0;
  const person = async (deed: Deed): Promise<void> => {
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      if (!(await deed())) refused += 1;
      tookMs.push(performance.now() - startedAt);
    }
  };
  await Promise.all(deeds.flatMap((deed) => [person(deed), person(deed)]));
  tookMs.sort((one, other) => one - other);
  const at = (share: number) => Math.round(tookMs[Math.floor(tookMs.length * share)] ?? 0);
  return { done: tookMs.length, refused, p50: at(0.5), p99: at(0.99) };
}

/** The status of an answer that was read to its end. An export does not say how long it is. */
export async function statusOf(
  { client, headers }: Pick<Readers, 'client' | 'headers'>,
  path: string,
): Promise<number | undefined> {
  try {
    if (!path.includes('/export')) return (await client.send({ path, headers, timeoutMs: 30_000 })).status;
    const answer = await fetch(client.origin + path, { headers, signal: AbortSignal.timeout(120_000) });
    for await (const _chunk of answer.body ?? []);
    return answer.status;
  } catch {
    return undefined;
  }
}

/** One kind of hostile reader: forty connections that ask for these paths as fast as they are answered. */
interface Readers {
  readonly client: HttpClient;
  readonly headers: Readonly<Record<string, string>>;
  readonly paths: readonly string[];
}

const CONNECTIONS = 40;

export interface Attack {
  readonly idle: Outcome;
  readonly attacked: Outcome;
  /** Answers to the readers, by status. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** Repeats the deeds alone, then beside hostile readers of all kinds. */
export async function attack(
  readers: readonly Readers[],
  { deeds, seconds }: { readonly deeds: readonly Deed[]; readonly seconds: number },
): Promise<Attack> {
  const idle = await repeat(deeds, seconds);
  const statuses: Record<string, number> = {};
  let isOver = false;
  const reader = async ({ paths, ...asking }: Readers, number: number): Promise<void> => {
    for (let turn = number; !isOver; turn += 1) {
      const path = paths[turn % paths.length] ?? '/';
      const status = String((await statusOf(asking, path)) ?? 'none');
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  const all = readers.flatMap((kind) =>
    Array.from({ length: CONNECTIONS }, (_none, number) => reader(kind, number * 7)),
  );
  const attacked = await repeat(deeds, seconds);
  isOver = true;
  await Promise.all(all);
  return { idle, attacked, statuses };
}

import { join, resolve } from 'node:path';
import { lookingPaths as pathsOf } from '@sealgate/local-services';
import type { HttpClient } from './http-client.ts';

const apps = resolve(import.meta.dirname, '../../..');

/** Every path that a document of a surface has for GET, with each filter alone. */
export const lookingPaths = (
  surface: string,
  file: 'openapi.json' | 'admin-openapi.json',
  known: Readonly<Record<string, string>>,
): string[] => pathsOf(join(apps, surface, file), known);

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

import { randomBytes } from 'node:crypto';
import type { RowLoad } from '../rows/row.ts';
import {
  checkLoad,
  preparePolicyAndKey,
  readDecisionLog,
  sealSubjects,
  type SealedSubject,
} from '../surfaces/gate-site.ts';
import type { Surface } from '../surfaces/surface-process.ts';
import { until } from '../until.ts';
import { isFilled, THROUGH_DOORS } from './amounts.ts';
import { copyCases } from './copy-cases.ts';
import { createAll } from './create-all.ts';
import type { FillAt } from './sized-surface.ts';

/** What the gate was filled with. */
export interface FilledGate {
  readonly rawKey: string;
  readonly sealed: readonly SealedSubject[];
  /** Number of records of the ledger. */
  readonly records: number;
}

const sealedOf = (cases: number): number => Math.min(THROUGH_DOORS, cases / 2);
const fillConnections = 32;

/**
 * Decisions of cases, and those of the gate, come through the doors: they are signed and chained. So do ten thousand
 * cases that wait for a decision; the others are copies of one of these.
 */
export async function fillGate(at: FillAt): Promise<FilledGate> {
  const { context, surface, amounts } = at;
  const venues = Array.from({ length: amounts.venues }, (_, number) => `venue-${number}`);
  await createAll(
    context,
    surface,
    venues.map((venue_id) => ['/venues', { venue_id, name: `Hall ${venue_id}` }]),
  );
  const rawKey = await preparePolicyAndKey(surface);
  const subjects = sealedOf(amounts.cases);
  const sealed = await sealSubjects(surface, {
    ...{ rawKey, subjects },
    venueOf: (subject) => venues[subject % venues.length]!,
  });
  const waiting = amounts.cases - subjects;
  const throughDoors = Math.min(THROUGH_DOORS, waiting);
  await send(at, newCases(surface, rawKey), throughDoors);
  await copyCases(at, waiting - throughDoors);
  // While it is filled the machine may be too busy for its deadline: a denial is a decision, too.
  const { mustSay: _allow, ...checks } = checkLoad(surface, { rawKey, sealed });
  await untilLogged(at, await send(at, checks, amounts.decisions));
  const text = 'SELECT count(*)::int AS records FROM ledger.records';
  const [row] = await at.site.sql.query<{ records: number }>({ text });
  return { rawKey, sealed, records: row!.records };
}

/** Cases of new subjects, which wait for a decision. */
export function newCases({ port }: Surface, rawKey: string): RowLoad {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${rawKey}` };
  return {
    destinations: [{ port, path: '/v1/cases', headers }],
    body: JSON.stringify({ subject_ref: 'subj_{key}', venue_ids: ['venue-0'], external_ref: 'file-{key}' }),
    expects: [201],
  };
}

/** Returns the number of answers. */
async function send({ context, site, surface }: FillAt, load: RowLoad, requests: number): Promise<number> {
  const { succeeded, refused } = await context.generator.run({
    ...load,
    keyPrefix: randomBytes(6).toString('hex'),
    watch: site.watch(surface),
    connections: fillConnections,
    until: { requests },
  });
  if (!isFilled(succeeded, requests))
    throw new Error(`Of ${requests} requests ${succeeded} were answered as expected; ${JSON.stringify(refused)}.`);
  return succeeded;
}

const loggedWithinMs = 60_000;

/** The log is written behind the answers. */
const untilLogged = ({ site }: FillAt, answers: number): Promise<void> =>
  until(async () => (await readDecisionLog(site)).rows >= answers, {
    ...{ withinMs: loggedWithinMs, againMs: 200 },
    late: `The log did not have all ${answers} decisions in time.`,
  });

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import fc from 'fast-check';
import { approvedEvidence, listOf, rowsOf, type ListEnvelope, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let service: TestInstallation;
beforeAll(async () => {
  service = await testInstallation();
}, 120_000);
afterAll(() => service.stop());

const now = (): number => Date.now() + service.skewMs;
const inHours = (hours: number): string => new Date(now() + hours * HOUR_MS).toISOString();

/** An organisation with a control for each of two requirements, two writers, and three readers with narrower scopes. */
async function newDesk() {
  const orgId = await service.newOrg();
  const owner = await service.newPerson(orgId, ['owner']);
  const admin = await service.newPerson(orgId, ['admin']);
  const watchers = {
    owner,
    viewer: await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } }),
    auditor: await service.newPerson(orgId, ['auditor']),
    partner: await service.newPerson(orgId, ['partner_read']),
  };
  const frameworkId = await service.newFramework(orgId, ['1', '2']);
  const write = rowsOf(service, owner);
  const controls: Made[] = [];
  for (const requirementId of ['1', '2'])
    controls.push(await write.control({ frameworkRefs: [{ frameworkId, requirementId }] }));
  return { owner, admin, watchers, write, controlIds: controls.map(({ id }) => id) };
}
type Desk = Awaited<ReturnType<typeof newDesk>>;

/** The attributes of a row, and who may see it. */
const PLACES = {
  open: { department: 'ops', sensitive: false },
  legal: { department: 'legal', sensitive: false },
  sensitive: { department: 'ops', sensitive: true },
} as const;
type Place = keyof typeof PLACES;
type Watcher = keyof Desk['watchers'];
const SEES: Readonly<Record<Watcher, readonly Place[]>> = {
  owner: ['open', 'legal', 'sensitive'],
  viewer: ['open'],
  auditor: ['open', 'legal'],
  partner: ['open', 'legal'],
};
const WATCHERS = Object.keys(SEES) as Watcher[];

interface ModelEvidence {
  readonly id: string;
  readonly control: number;
  readonly validUntilMs: number;
  readonly place: Place;
  readonly isRevoked: boolean;
}

/** A naive model: the rows, and the current or last attributes of each. */
interface Model {
  evidence: readonly ModelEvidence[];
  lastPlaces: Readonly<Record<string, Place>>;
}

/** What a reader must see of a revision, given the current attributes of rows. */
function expectedOf(watcher: Watcher, evidence: readonly ModelEvidence[], atMs: number, { lastPlaces }: Model) {
  const sees = (place: Place | undefined) => place !== undefined && SEES[watcher].includes(place);
  const seen = evidence.filter(({ id, place }) => sees(place) && sees(lastPlaces[id]));
  const rows = ['1', '2'].map((requirementId, control) => {
    const counts = seen.filter((one) => one.control === control && !one.isRevoked && one.validUntilMs > atMs);
    const evidenceIds = counts.map(({ id }) => id).sort();
    return { requirementId, state: evidenceIds.length > 0 ? 'covered' : 'gap', evidenceIds };
  });
  return { rows, count: seen.length };
}

const shown = ({ items }: ListEnvelope) =>
  items.map(({ requirementId, state, evidenceIds }) => ({ requirementId, state, evidenceIds }));

interface Remembered {
  readonly watcher: Watcher;
  readonly snapshotId: string;
  readonly cursor: string;
  readonly evidence: readonly ModelEvidence[];
  readonly atMs: number;
}

type Step =
  | { readonly entry: 'pass'; readonly hours: number }
  | { readonly entry: 'add'; readonly control: number; readonly hours: number; readonly place: Place }
  | { readonly entry: 'move'; readonly which: number; readonly place: Place }
  | { readonly entry: 'revoke' | 'remove'; readonly which: number }
  | { readonly entry: 'write'; readonly place: Place }
  | { readonly entry: 'read' };

const place = fc.constantFrom<Place>('open', 'legal', 'sensitive');
const which = fc.nat(5);
const hours = fc.integer({ min: 1, max: 3 });
const step = fc.oneof<fc.MaybeWeightedArbitrary<Step>[]>(
  { weight: 4, arbitrary: fc.record({ entry: fc.constant('pass' as const), hours }) },
  { weight: 4, arbitrary: fc.record({ entry: fc.constant('add' as const), control: fc.nat(1), hours, place }) },
  { weight: 4, arbitrary: fc.record({ entry: fc.constant('write' as const), place }) },
  { weight: 3, arbitrary: fc.record({ entry: fc.constant('move' as const), which, place }) },
  { weight: 1, arbitrary: fc.record({ entry: fc.constantFrom('revoke' as const, 'remove' as const), which }) },
  { weight: 4, arbitrary: fc.constant({ entry: 'read' as const }) },
);

/** Applies a step to the service and to the model. */
async function take(desk: Desk, model: Model, asked: Step): Promise<void> {
  const { write } = desk;
  if (asked.entry === 'pass') {
    service.skewMs += asked.hours * HOUR_MS;
  } else if (asked.entry === 'write') {
    await write.risk(PLACES[asked.place]);
  } else if (asked.entry === 'add') {
    const { control, place: at } = asked;
    const validUntil = inHours(asked.hours);
    const more = { ...PLACES[at], controlIds: [desk.controlIds[control]!], validUntil };
    const { id } = await approvedEvidence(service, [desk.owner, desk.admin], more);
    const made = { id, control, validUntilMs: Date.parse(validUntil), place: at, isRevoked: false };
    model.evidence = [...model.evidence, made];
    model.lastPlaces = { ...model.lastPlaces, [id]: at };
  } else if (asked.entry !== 'read') {
    const one = model.evidence[asked.which % Math.max(1, model.evidence.length)];
    if (one === undefined) return;
    const others = model.evidence.filter(({ id }) => id !== one.id);
    if (asked.entry === 'move') {
      await write.change(`/api/evidence/${one.id}`, PLACES[asked.place]);
      model.evidence = [...others, { ...one, place: asked.place }];
      model.lastPlaces = { ...model.lastPlaces, [one.id]: asked.place };
    } else if (asked.entry === 'remove') {
      await write.remove(`/api/evidence/${one.id}`);
      model.evidence = others;
    } else if (!one.isRevoked) {
      await write.transition(one.id, 'revoked', { reason: 'wrong' });
      model.evidence = [...others, { ...one, isRevoked: true }];
    }
  }
}

/** Reads the newest revision as every reader, and compares it with the model. */
async function readNewest(desk: Desk, model: Model): Promise<Remembered[]> {
  const remembered: Remembered[] = [];
  for (const watcher of WATCHERS) {
    const { key } = desk.watchers[watcher];
    const atMs = now();
    const all = await listOf(service, key, '/api/v1/coverage');
    const expected = expectedOf(watcher, model.evidence, atMs, model);
    expect({ watcher, rows: shown(all) }).toEqual({ watcher, rows: expected.rows });
    const filtered = await listOf(service, key, '/api/v1/coverage?state=covered');
    expect(shown(filtered)).toEqual(expected.rows.filter(({ state }) => state === 'covered'));
    const first = await listOf(service, key, '/api/v1/coverage?limit=1');
    const { snapshotId } = first;
    const cursor = first.pagination.nextCursor!;
    remembered.push({ watcher, snapshotId: snapshotId!, cursor, evidence: model.evidence, atMs });
  }
  return remembered;
}

/** Reads an old revision by its id, by the cursor of a walk that began there, and as a snapshot with counts. */
async function readAgain(desk: Desk, model: Model, old: Remembered): Promise<void> {
  const { watcher, snapshotId, cursor, evidence, atMs } = old;
  const { key } = desk.watchers[watcher];
  const expected = expectedOf(watcher, evidence, atMs, model);
  const again = await listOf(service, key, `/api/v1/coverage?snapshotId=${snapshotId}`);
  expect({ watcher, snapshotId, rows: shown(again) }).toEqual({ watcher, snapshotId, rows: expected.rows });
  const rest = await listOf(service, key, `/api/v1/coverage?limit=1&cursor=${cursor}`);
  expect(shown(rest)).toEqual(expected.rows.slice(1));
  const proofs = await listOf(service, key, `/api/v1/proofs?snapshotId=${snapshotId}`);
  const subjects = proofs.items.map(({ subjectId }) => String(subjectId));
  const mayBe = evidence.filter((one) =>
    [one.place, model.lastPlaces[one.id]!].every((at) => SEES[watcher].includes(at)),
  );
  expect(mayBe.map(({ id }) => id)).toEqual(expect.arrayContaining(subjects));
  const snapshot = await service.api.get(`/api/v1/snapshots/${snapshotId}`, key);
  expect(snapshot.json).toMatchObject({ item: { rowCounts: { evidence: expected.count, controls: 2, coverage: 2 } } });
}

describe('every revision', () => {
  it('shows what was valid then and what the reader may still see, whatever happened in between', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const desk = await newDesk();
        const model: Model = { evidence: [], lastPlaces: {} };
        const remembered: Remembered[] = [];
        let passed = 0;
        for (const asked of steps) {
          // No revision that was read may be older than a day.
          if (asked.entry === 'pass' && (passed += asked.hours) > 20) continue;
          await take(desk, model, asked);
          if (asked.entry === 'read') remembered.push(...(await readNewest(desk, model)));
        }
        remembered.push(...(await readNewest(desk, model)));
        for (const old of remembered) await readAgain(desk, model, old);
      }),
      { numRuns: 12, endOnFailure: true },
    );
  }, 240_000);
});

/** Waits for the last background change after an approval. */
const proofOf = ({ key }: TestPerson, evidenceId: string) =>
  until(
    async () => (await listOf(service, key, '/api/v1/proofs')).items.some(({ subjectId }) => subjectId === evidenceId),
    { what: 'the proof', timeoutMs: 20_000 },
  );

describe('evidence that expires before coverage is read', () => {
  it('has no effect on coverage after its expiry for callers who cannot see later writes, and reveals nothing of these', async () => {
    const [quiet, busy] = [await newDesk(), await newDesk()];
    for (const desk of [quiet, busy]) {
      const { id } = await approvedEvidence(service, [desk.owner, desk.admin], {
        department: 'ops',
        controlIds: [desk.controlIds[0]],
        validUntil: inHours(2),
      });
      await proofOf(desk.owner, id);
    }
    service.skewMs += 3 * HOUR_MS;
    await busy.write.risk(PLACES.sensitive);
    service.skewMs += HOUR_MS;
    for (const watcher of WATCHERS) {
      for (const desk of [quiet, busy]) {
        const { key } = desk.watchers[watcher];
        const { items, snapshotId } = await listOf(service, key, '/api/v1/coverage');
        expect([watcher, ...items.map(({ state }) => state)]).toEqual([watcher, 'gap', 'gap']);
        const snapshot = await service.api.get(`/api/v1/snapshots/${snapshotId}`, key);
        const { createdAt } = (snapshot.json as { item: { createdAt: string } }).item;
        // The time of the expiry, not of a read or of a hidden write.
        if (watcher !== 'owner' || desk === quiet) expect(now() - Date.parse(createdAt)).toBeGreaterThan(1.9 * HOUR_MS);
      }
    }
  }, 60_000);

  it('ends the snapshot before it: a day after the expiry that one is gone, with or without reads in between', async () => {
    const { owner, admin, watchers, controlIds } = await newDesk();
    const { key } = watchers.partner;
    const { id } = await approvedEvidence(service, [owner, admin], {
      controlIds: [controlIds[0]],
      validUntil: inHours(1),
    });
    await proofOf(owner, id);
    const { snapshotId } = await listOf(service, key, '/api/v1/coverage');
    const path = `/api/v1/coverage?snapshotId=${snapshotId}`;
    service.skewMs += DAY_MS;
    expect((await listOf(service, key, path)).items[0]).toMatchObject({ state: 'covered' });
    service.skewMs += 2 * HOUR_MS;
    expect((await service.api.get(path, key)).status).toBe(410);
  }, 60_000);
});

it("rows that became sensitive or left the reader's department are in no snapshot any more", async () => {
  for (const [watcher, to] of [
    ['partner', 'sensitive'],
    ['auditor', 'sensitive'],
    ['viewer', 'legal'],
  ] as const) {
    const { owner, admin, watchers, write, controlIds } = await newDesk();
    const { key } = watchers[watcher];
    const { id } = await approvedEvidence(service, [owner, admin], { ...PLACES.open, controlIds: [controlIds[0]] });
    const proofs = async () => (await listOf(service, key, '/api/v1/proofs')).items;
    await until(async () => (await proofs()).length === 1, { what: 'the proof', timeoutMs: 20_000 });
    const [proof] = await proofs();
    const before = await listOf(service, key, '/api/v1/coverage?limit=1');
    expect(before.items).toMatchObject([{ state: 'covered', evidenceIds: [id] }]);
    await write.change(`/api/evidence/${id}`, PLACES[to]);
    for (const query of ['', `?snapshotId=${before.snapshotId}`]) {
      const coverage = await listOf(service, key, `/api/v1/coverage${query}`);
      expect(coverage.items[0]).toMatchObject({ state: 'gap', evidenceIds: [], freshestEvidenceAt: null });
      expect((await listOf(service, key, `/api/v1/proofs${query}`)).items).toEqual([]);
    }
    expect((await service.api.get(`/api/v1/proofs/${proof!.id}`, key)).status).toBe(404);
    const { items } = await listOf(service, key, '/api/v1/snapshots?limit=200');
    expect(items.map(({ rowCounts }) => rowCounts)).toEqual(
      items.map(() => expect.objectContaining({ evidence: 0, proofs: 0 })),
    );
    const ofOwner = await listOf(service, owner.key, `/api/v1/coverage?snapshotId=${before.snapshotId}`);
    expect(ofOwner.items[0]).toMatchObject({ state: 'covered', evidenceIds: [id] });
  }
}, 60_000);

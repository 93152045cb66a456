import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { auditTrail } from '@sealgate/audit';
import { randomPool, ServerSecrets, timeOrderedIds } from '@sealgate/auth';
import { LedgerUnavailableError, OutcomeUnknownError, type AppendUnit, type UnitResult } from '@sealgate/ledger-port';
import { anchorStore, waitingAnchors } from './data/anchor-store.ts';
import { anchorDue, type AnchorPorts } from './domain/anchor-evidence.ts';
import { approvedEvidence, listOf, rowsOf, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';

let service: TestInstallation;
let owner: TestPerson;
let admin: TestPerson;
beforeAll(async () => {
  service = await testInstallation();
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  admin = await service.newPerson(orgId, ['admin']);
}, 120_000);
afterAll(() => service.stop());

/** An outbox row that is not due before the year 2999. */
async function laidAside(): Promise<Made> {
  const { id } = await rowsOf(service, owner).evidence();
  await rowsOf(service, owner).transition(id, 'in_review');
  await service.sql.query({
    text: `CREATE OR REPLACE FUNCTION risk.lay_aside() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN NEW.due_at := '2999-01-01'; RETURN NEW; END $$`,
  });
  await service.sql.query({
    text: 'CREATE OR REPLACE TRIGGER lay_aside BEFORE INSERT ON risk.anchors FOR EACH ROW EXECUTE FUNCTION risk.lay_aside()',
  });
  return rowsOf(service, admin).transition(id, 'approved');
}

const YEAR_MS = 366 * 86_400_000;

/** A scripted ledger that records its calls. */
function scripted(answers: (UnitResult['outcome'] | Error)[], proves: 'yes' | 'no' = 'yes') {
  const units: AppendUnit[] = [];
  const ledger: AnchorPorts['ledger'] = {
    hasLog: true,
    findConflict: async () => undefined,
    async append(unit) {
      units.push(unit);
      const answer = answers.shift() ?? 'existing';
      if (answer instanceof Error) throw answer;
      if (answer === 'conflict') return { outcome: 'conflict', id: unit.records[0]!.id };
      if (answer === 'reused') return { outcome: 'reused' };
      return { outcome: answer, transactionId: 'tx', note: unit.note, records: [] };
    },
    async prove(channel, id) {
      if (proves === 'no') throw new LedgerUnavailableError('No checkpoint covers it.');
      const at = '2026-01-01T00:00:00.000Z';
      const hash = 'ab'.repeat(32);
      const receipt = {
        network: 'n',
        channel,
        id,
        type: 'evidence',
        owner: null,
        dataHash: hash,
        salt: null,
        extra: null,
        transactionId: 'tx',
        at,
        index: 4,
      };
      return {
        receipt,
        proof: { channel, index: 4, leafHash: hash, treeSize: 5, inclusionPath: [hash], checkpoint: 'note' },
      };
    },
  };
  return { ledger, units };
}

let clockMs = Date.parse('2999-01-02T00:00:00Z');
const told: string[] = [];

function run(ledger: AnchorPorts['ledger']): Promise<number> {
  const now = () => clockMs;
  const newId = timeOrderedIds(now, randomPool());
  const secrets = ServerSecrets.parse(`s1:${'x'.repeat(32)}`);
  const audit = auditTrail({ surface: 'risk-partner', schema: 'risk', secrets, now, newId });
  const store = anchorStore({ sql: service.sql, audit, now, newId });
  const onRefused = () => void told.push('refused');
  return anchorDue({
    store,
    ledger,
    network: 'n',
    channel: 'n.c',
    now,
    onRefused,
    onFailure: () => void told.push('failure'),
  });
}

const look = async ({ id }: Made) => {
  const { item } = (await service.api.get(`/api/v1/evidence/${id}`, owner.key)).json as { item: Made };
  const proofs = (await listOf(service, owner.key, '/api/v1/proofs')).items.filter(({ subjectId }) => subjectId === id);
  return [item['ledgerRecordId'], proofs.length];
};

describe('anchoring of a fingerprint', () => {
  it('does not block the approval during a ledger outage, and happens after it', async () => {
    const evidence = await laidAside();
    expect(evidence['state']).toBe('approved');
    const { ledger, units } = scripted([
      new LedgerUnavailableError('away'),
      new OutcomeUnknownError('tx'),
      new Error('a bug'),
      'existing',
    ]);
    const shown = (await service.admin('GET', '/waiting')).json as { items: { what: string; count: number }[] };
    expect(shown.items).toMatchObject([
      { what: 'anchors', count: 1, oldestAt: expect.any(String) },
      { what: 'proofs' },
    ]);
    const waiting = await waitingAnchors(service.sql, Date.parse(String(evidence['updatedAt'])) + 5000);
    expect(waiting).toEqual({ count: 1, oldestSeconds: 5 });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(await run(ledger)).toBe(1);
      expect(await look(evidence)).toEqual([null, 0]);
      // Not before its backoff ends.
      expect(await run(ledger)).toBe(0);
      clockMs += 60_000;
    }
    expect(told).toEqual(['failure']);
    expect(await run(ledger)).toBe(1);
    // A retry sends an identical record.
    expect(new Set(units.map((unit) => JSON.stringify(unit))).size).toBe(1);
    const [record] = units[0]!.records;
    expect(JSON.parse(record!.data)).toMatchObject({ evidenceId: evidence.id, sha256: evidence['sha256'], version: 1 });
    expect(await look(evidence)).toEqual([record!.id, 1]);
    expect(await run(ledger)).toBe(0);
  });

  it('ends without a proof if the record is not on the Fabric network that the ledger is now', async () => {
    const evidence = await laidAside();
    const elsewhere = { ...scripted(['written']).ledger, hasLog: false, prove: async () => undefined };
    expect(await run(elsewhere)).toBe(1);
    expect(await look(evidence)).toEqual([expect.stringMatching(/^ledger_rec_/), 0]);
    clockMs += 120_000;
    expect(await run(elsewhere)).toBe(0);
  });

  it('shows the anchor before the proof, and writes the proof once', async () => {
    const evidence = await laidAside();
    const unproved = scripted(['written'], 'no');
    await run(unproved.ledger);
    const [recordId, proofs] = await look(evidence);
    expect([recordId, proofs]).toEqual([expect.stringMatching(/^ledger_rec_/), 0]);
    clockMs += 60_000;
    const proved = scripted([]);
    await run(proved.ledger);
    expect(proved.units).toEqual([]);
    expect(await look(evidence)).toEqual([recordId, 1]);
    // A process that crashed between proof and response repeats the step.
    await service.sql.query({
      text: `UPDATE risk.anchors SET state = 'anchored' WHERE ledger_record_id = $1`,
      values: [recordId],
    });
    await run(proved.ledger).catch(() => undefined);
    expect(await look(evidence)).toEqual([recordId, 1]);
    await service.sql.query({
      text: `UPDATE risk.anchors SET state = 'proved' WHERE ledger_record_id = $1`,
      values: [recordId],
    });
  });

  it('is given up, with a log line and a metric, if the ledger holds another record under its id', async () => {
    const evidence = await laidAside();
    told.length = 0;
    await run(scripted(['conflict']).ledger);
    expect(told).toEqual(['refused']);
    expect(await look(evidence)).toEqual([null, 0]);
    clockMs += YEAR_MS;
    expect(await run(scripted([]).ledger)).toBe(0);
  });

  it('is leased by only one of several concurrent workers', async () => {
    const evidence = await laidAside();
    clockMs += YEAR_MS;
    const { ledger, units } = scripted(['written']);
    const taken = await Promise.all([run(ledger), run(ledger), run(ledger)]);
    expect(taken.sort()).toEqual([0, 0, 1]);
    expect(units).toHaveLength(1);
    expect((await look(evidence))[1]).toBe(1);
  });

  it('continues if the evidence has been deleted', async () => {
    const evidence = await laidAside();
    await rowsOf(service, owner).remove(`/api/evidence/${evidence.id}`);
    clockMs += YEAR_MS;
    await run(scripted(['written']).ledger);
    expect(await run(scripted([]).ledger)).toBe(0);
  });

  it('does not happen for a link without a fingerprint', async () => {
    const before = await service.sql.query({ text: 'SELECT 1 FROM risk.anchors' });
    await approvedEvidence(service, [owner, admin], { kind: 'link', sha256: null });
    expect(await service.sql.query({ text: 'SELECT 1 FROM risk.anchors' })).toHaveLength(before.length);
  });
});

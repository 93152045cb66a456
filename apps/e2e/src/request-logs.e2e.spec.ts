import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, holdLock, until } from '@sealgate/testing';
import { membersOf, type Members } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import type { HttpAnswer, HttpRequest } from './harness/http-exchange.ts';
import { openWatchedSite, PODS, type PodName, type WatchedSite } from './watched/site.ts';
import { approveEvidence, makeWorld, requestsOf, type World } from './watched/world.ts';

const SLOW_MS = 500;

/** A write on each surface, and a table that it needs. */
const SURFACES = [
  { pod: 'gateway-1', of: 'record', table: 'ledger.channels', route: '/{networkId}', outcome: 'written' },
  { pod: 'gateway-1', of: 'delivery', table: 'ledger.channels', route: '/hooks/{sourceId}', outcome: 'written' },
  { pod: 'case-gate', of: 'case', table: 'gate.cases', route: '/v1/cases', outcome: undefined },
  { pod: 'risk-partner', of: 'risk', table: 'risk.resources', route: '/api/risks', outcome: undefined },
  { pod: 'ledger-peer', of: 'asset', table: 'ledger.channels', route: '/api/assets', outcome: 'done' },
] as const;

describeWithRedis('One search for the id of a request', () => {
  let site: WatchedSite;
  let world: World;
  beforeAll(async () => {
    site = await openWatchedSite();
    world = await makeWorld(site);
  }, setupTimeoutMs);
  afterAll(() => site.stop(), setupTimeoutMs);

  /** Every line of every process that has it, as one search over all logs finds them. */
  const search = (id: string): Members[] =>
    (Object.keys(PODS) as PodName[]).flatMap((pod) =>
      readFileSync(join(site.folder, `${pod}.log`), 'utf8')
        .split('\n')
        .filter((line) => line.includes(id))
        .map((line) => membersOf(JSON.parse(line))),
    );
  const idOf = ({ headers }: HttpAnswer): string => String(headers['x-request-id']);
  const found = async (id: string): Promise<Members> => {
    await until(() => search(id).some(({ event }) => event === 'request'), { what: `the line of ${id}` });
    return search(id).find(({ event }) => event === 'request')!;
  };
  const send = (pod: PodName, request: HttpRequest): Promise<HttpAnswer> =>
    site.pods[pod].process.public.send({ timeoutMs: 20_000, ...request });

  it.each(SURFACES)(
    'tells of a good and a slow write, and of one without a key: $of at $pod',
    async ({ pod, of, table, route, outcome }) => {
      const { service, ...line } = { service: PODS[pod], method: 'POST', route, durationMs: expect.any(Number) };
      const good = await send(pod, await requestsOf(site, world)[of]());
      expect([200, 201]).toContain(good.status);
      const written = { ...line, service, status: good.status, ...(outcome === undefined ? {} : { outcome }) };
      expect(await found(idOf(good))).toMatchObject({ ...written, keyId: expect.any(String) });
      if (outcome !== undefined)
        expect(await found(idOf(good))).toMatchObject({ transactionId: expect.any(String), records: 1 });
      if (pod === 'gateway-1')
        expect(await found(idOf(good))).toMatchObject({ eventId: expect.stringMatching(/^evt_/) });

      const lock = await holdLock(site.postgres.url, `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      const slow = send(pod, await requestsOf(site, world)[of]());
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      await lock.release();
      const { durationMs, status } = await found(idOf(await slow));
      expect([Number(durationMs) >= SLOW_MS - 50, status]).toEqual([true, good.status]);

      const { headers: _, ...keyless } = await requestsOf(site, world)[of]();
      const refused = await send(pod, { ...keyless, headers: { 'Content-Type': 'application/json' } });
      const { instance } = membersOf(refused.body);
      expect(String(instance)).toContain(idOf(refused));
      expect(await found(idOf(refused))).toMatchObject({
        ...{ ...line, service, status: 401, code: 'UNAUTHENTICATED' },
        // A source is known by its path; the address is told of a caller who is not.
        ...(of === 'delivery'
          ? { keyId: world.source.sourceId, reason: 'header-missing' }
          : { clientAddress: '127.0.0.1', reason: expect.stringMatching(/key|token|credential/i) }),
      });
    },
    setupTimeoutMs,
  );

  it(
    'tells the ledger record of a seal and of approved evidence',
    async () => {
      const cases = requestsOf(site, world);
      const opened = membersOf((await send('case-gate', cases.case())).body);
      const path = `/v1/cases/${String(opened['case_id'])}`;
      const decided = await send(
        'case-gate',
        cases.step(`${path}/decide`, { policy_version: 'p1', decision: 'approve' }),
      );
      expect(await found(idOf(decided))).toMatchObject({ route: '/v1/cases/{case_id}/decide', outcome: 'approve' });
      const sealed = await send('case-gate', cases.step(`${path}/seal`, {}, `${String(opened['case_id'])}:p1`));
      const { ledger_record_id: ledgerRecordId } = membersOf(sealed.body);
      expect(await found(idOf(sealed))).toMatchObject({ ledgerRecordId });

      const { requestId, evidenceId } = await approveEvidence(site, world);
      const anchored = (await found(requestId))['ledgerRecordId'];
      const shown = async (): Promise<unknown> =>
        membersOf((await send('risk-partner', cases.evidence(evidenceId))).body)['ledgerRecordId'];
      await until(async () => (await shown()) === anchored, { what: 'the anchor of the line' });
    },
    setupTimeoutMs,
  );

  it(
    'tells the decision of the gate and its reason',
    async () => {
      const asked = await send('case-gate', requestsOf(site, world).check(world.subjectRef));
      expect(await found(idOf(asked))).toMatchObject({ status: 200, outcome: 'allow', reason: 'ELIGIBLE' });
      const unknown = await send('case-gate', requestsOf(site, world).check('subj_00000000000000000000'));
      expect(await found(idOf(unknown))).toMatchObject({ status: 200, outcome: 'deny', reason: 'SUBJECT_UNKNOWN' });
    },
    setupTimeoutMs,
  );

  it(
    'tells why a write failed while PostgreSQL is away, on each surface',
    async () => {
      await site.postgres.halt('immediate');
      try {
        for (const { pod, of, route } of SURFACES) {
          const failed = await send(pod, await requestsOf(site, world)[of]());
          expect(failed.status).toBe(503);
          expect(await found(idOf(failed))).toMatchObject({
            ...{ service: PODS[pod], method: 'POST', route, status: 503 },
            code: expect.stringMatching(/^(?:LEDGER_)?UNAVAILABLE$|^OUTCOME_UNKNOWN$/),
            reason: expect.stringMatching(/database|ledger/i),
          });
        }
      } finally {
        await site.postgres.restart();
      }
    },
    setupTimeoutMs,
  );
});

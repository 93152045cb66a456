import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithRedis, otlpReceiver, until, type OtlpReceiver, type ReceivedSpan } from '@sealgate/testing';
import { membersOf, type Members } from './harness/admin-client.ts';
import { setupTimeoutMs } from './harness/contract-setup.ts';
import { githubHeaders } from './harness/webhook-sender.ts';
import { signIn, type AsPerson } from './watched/sign-in.ts';
import { openWatchedSite, type WatchedSite } from './watched/site.ts';
import { makeWorld, requestsOf, type World } from './watched/world.ts';

const SERVER = 2;
const OTHER_SECRET = 'another secret of this sender';

describeWithRedis('A write through the console is one trace', () => {
  let receiver: OtlpReceiver;
  let site: WatchedSite;
  let world: World;
  let person: AsPerson;
  beforeAll(async () => {
    receiver = await otlpReceiver();
    site = await openWatchedSite({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    world = await makeWorld(site);
    person = await signIn(site);
  }, setupTimeoutMs);
  afterAll(async () => {
    await site.stop();
    await receiver.close();
  }, setupTimeoutMs);

  /** The spans of the trace of a response, once it has one of this name. */
  async function traceOf(response: Response, name: RegExp): Promise<readonly ReceivedSpan[]> {
    const requestId = response.headers.get('x-request-id');
    const ofRequest = (): ReceivedSpan | undefined =>
      receiver.spans.find(({ attributes }) => attributes['sealgate.request.id'] === requestId);
    const spans = (): readonly ReceivedSpan[] =>
      receiver.spans.filter(({ traceId }) => traceId === ofRequest()?.traceId);
    await until(() => spans().some((span) => name.test(span.name)), { timeoutMs: 15_000, what: String(name) });
    await until(() => servers(spans()).length === 2, { timeoutMs: 15_000, what: 'the spans of both services' });
    return spans();
  }
  const servers = (spans: readonly ReceivedSpan[]): ReceivedSpan[] => spans.filter(({ kind }) => kind === SERVER);

  /** Each server span is of one service, under the console's, and both have the id that the person was told. */
  function expectBoth(response: Response, spans: readonly ReceivedSpan[], service: string): void {
    const told = response.headers.get('x-request-id');
    const byService = new Map(servers(spans).map((span) => [span.resource['service.name'], span]));
    expect([...byService.keys()].sort()).toEqual(['console', service].sort());
    for (const { attributes } of byService.values()) expect(attributes['sealgate.request.id']).toBe(told);
    const parents = new Map(spans.map((span) => [span.spanId, span]));
    const ancestors = (span: ReceivedSpan): string[] => {
      const parent = parents.get(span.parentSpanId ?? '');
      return parent === undefined ? [] : [parent.spanId, ...ancestors(parent)];
    };
    expect(ancestors(byService.get(service)!)).toContain(byService.get('console')!.spanId);
  }
  const bodyOf = async (response: Response): Promise<Members> => membersOf(await response.json());

  it(
    'from the seal of a case to the ledger',
    async () => {
      const opened = await site.pods['case-gate'].process.public.send(requestsOf(site, world).case());
      const caseId = String(membersOf(opened.body)['case_id']);
      const path = `/admin/case-gate/admin/v1/cases/${caseId}`;
      const decided = await person('POST', `${path}/decide`, { body: { policy_version: 'p1', decision: 'approve' } });
      expect([decided.status, await bodyOf(decided)]).toMatchObject([201, { status: 'decided' }]);
      const sealed = await person('POST', `${path}/seal`, { body: { policy_version: 'p1' } });
      expect(sealed.status).toBe(201);
      expectBoth(sealed, await traceOf(sealed, /^ledger write$/), 'case-gate');
    },
    setupTimeoutMs,
  );

  it(
    'from a refused delivery that is processed again to the ledger',
    async () => {
      const { networkId, source } = world;
      const gateway = site.pods['gateway-1'].process;
      const body = '{"is":"forged"}';
      const forged = await githubHeaders({ secret: OTHER_SECRET, body });
      expect((await gateway.public.send({ method: 'POST', path: source.path, headers: forged, body })).status).toBe(
        401,
      );
      const admin = site.admin('gateway-1');
      const path = `/networks/${networkId}/sources/${source.sourceId}`;
      const refused = async (): Promise<Members | undefined> =>
        ((await admin.ask('GET', `${path}/refused`))['items'] as Members[])[0];
      await until(async () => (await refused()) !== undefined, { what: 'the refused delivery' });
      // The secret with which it was signed is made known: the delivery is good now.
      await admin.ask('PATCH', path, { secrets: [{ id: 'k2', value: OTHER_SECRET }] });
      const again = `/admin/ingest-gateway/admin/v1${path}/refused/${String((await refused())?.['refusedId'])}/process`;
      const written = await person('POST', again, { body: {} });
      expect(await bodyOf(written)).toMatchObject({ outcome: 'written' });
      expectBoth(written, await traceOf(written, /^ledger write$/), 'ingest-gateway');
    },
    setupTimeoutMs,
  );
});

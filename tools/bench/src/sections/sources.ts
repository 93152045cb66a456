import { createHmac } from 'node:crypto';
import type { BenchContext, ReleaseStack } from '../bench-context.ts';
import { recordBody, warmUpRequests } from '../bodies.ts';
import type { Row } from '../rows/row.ts';
import { cpuUsOf, ratioOf } from '../rows/summarise.ts';
import { echoRow, EXPRESS } from '../servers/echo-server.ts';
import { countRecords, githubSecret, makeSender, makeSource, writes, type Sender } from '../surfaces/admin.ts';
import { prepareSite } from '../surfaces/site.ts';
import { tableSection } from './table-section.ts';

const forgers = 64;
const signature = (body: string): string => `sha256=${createHmac('sha256', githubSecret).update(body).digest('hex')}`;
const KEYED = 'single records with a key';

/** Deliveries signed as GitHub does, beside single records of the same size with a key, on one gateway. */
export const sourcesSection = tableSection(async (context, stack) => ({
  title: 'Sources',
  rows: await sourceRows(context, stack),
  notes: [
    'Bodies have 255 bytes. Each delivery has a new id, or one that two connections send concurrently; it is signed as GitHub does.',
    'The signatures of 50 forged deliveries per second and source are checked; more are refused unread.',
  ],
}));

async function sourceRows(context: BenchContext, stack: ReleaseStack): Promise<Row[]> {
  const site = await prepareSite(context, { name: 'sources', stack });
  const gateway = await site.start();
  const sources = (name: string, signed: string, count = 1): Promise<Sender[]> =>
    Promise.all(Array.from({ length: count }, (_, number) => makeSource(gateway, `${name}-${number}`, signed)));
  const row = (name: string, to: readonly Sender[], more: Partial<Row> = {}): Row => ({
    name,
    watch: site.watch(gateway),
    load: { destinations: to, body: recordBody(), sendsKey: name === KEYED, ...more.load },
    warmUpRequests: warmUpRequests.single / 4,
    ratios: { 'of Express': EXPRESS },
    ...writes(site, channelsOf(to)),
    ...more,
  });
  const forged = (name: string, to: readonly Sender[]): Row => ({
    ...row(name, to),
    load: { destinations: to, body: recordBody(), sendsKey: false, expects: [401, 429] },
    ...writes(site, channelsOf(to), 0),
    findings: (self, of) => [{ target: 'forgedOfExpress', value: ratioOf(self, of(EXPRESS)), of: self.name }],
  });
  const signed = signature(recordBody());
  const twice = await sources('twice', signed);
  return [
    await echoRow(context, stack),
    row(KEYED, [await makeSender(gateway, 'keyed')]),
    row('signed deliveries, each once', await sources('once', signed), {
      findings: (self, of) => [{ target: 'deliveryCpu', value: cpuUsOf(self) / cpuUsOf(of(KEYED)) }],
    }),
    {
      ...row('signed deliveries, each twice at once', twice),
      load: { destinations: twice, body: recordBody(), sendsKey: false, connectionsPerKey: 2 },
      recordsPerRequest: 1 / 2,
      proof: async (answers) => {
        // Of two connections that send the same, one may be ahead by some requests when a round ends.
        const inLedger = await countRecords(site, channelsOf(twice));
        const isWithin = Math.abs(inLedger - answers / 2) <= answers * 0.005 + 20 * context.options.connections;
        return isWithin ? [] : [`${answers} deliveries were acknowledged, the ledger holds ${inLedger}.`];
      },
      findings: (self, of) => [{ target: 'deliveriesTwice', value: ratioOf(self, of(KEYED)) }],
    },
    forged('forged deliveries to one source', await sources('forged', signature('another body'))),
    forged(`forged deliveries to ${forgers} sources`, await sources('forger', signature('another body'), forgers)),
  ];
}

const channelsOf = (senders: readonly Sender[]): string[] => senders.map(({ channel }) => channel);

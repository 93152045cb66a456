import { Option } from 'commander';
import { apiPath } from '../admin-api.ts';
import { type CommandSpec, yesOption } from '../command-spec.ts';
import { pageOptions, type PageOptions, printList } from '../print-list.ts';
import { type Column, rowFields } from '../row-table.ts';

export const pathOfSource = (networkId: string, sourceId: string): string =>
  apiPath`/networks/${networkId}/sources/${sourceId}`;

const COLUMNS: readonly Column[] = [
  { title: 'REFUSED', member: 'refusedId' },
  { title: 'AT', member: 'at' },
  { title: 'CODE', member: 'code' },
  { title: 'REASON', member: 'reason' },
  { title: 'SKEW', member: 'skewSeconds' },
  { title: 'HEADER', member: 'header' },
  { title: 'POINTER', member: 'pointer' },
  { title: 'DETAIL', member: 'detail' },
  { title: 'BYTES', member: 'bodyBytes' },
  { title: 'DELIVERY', member: 'deliveryId' },
  { title: 'KEPT UNTIL', member: 'keptUntil' },
  { title: 'OUTCOME', member: 'outcome' },
];

const COUNT_COLUMNS: readonly Column[] = [
  { title: 'CODE', member: 'code' },
  { title: 'REASON', member: 'reason' },
  { title: 'DELIVERIES', member: 'deliveries' },
  { title: 'LAST', member: 'lastAt' },
  { title: 'SKEW', member: 'lastSkewSeconds' },
];

interface RangeOptions {
  readonly from?: string;
  readonly to?: string;
}

const rangeOptions = (): Option[] => [
  new Option('--from <time>', 'from this time, RFC 3339'),
  new Option('--to <time>', 'before this, RFC 3339'),
];

const refused: CommandSpec<PageOptions & RangeOptions & { readonly code?: string; readonly reason?: string }> = {
  usage: 'refused <networkId> <sourceId>',
  summary: 'List refused deliveries of a source with their reasons, newest first',
  details: 'The sender was told nothing but the status. SKEW: seconds by which the clock of the sender is ahead.',
  examples: [
    'sealgate sources refused acme src_AAAAAAAAAAAAAAAAAAAAAA',
    'sealgate sources refused acme src_AAAAAAAAAAAAAAAAAAAAAA --reason clock-skew --all',
  ],
  options: [
    new Option('--code <code>', 'only with this problem code, such as PAYLOAD_TOO_LARGE'),
    new Option('--reason <reason>', 'only for this reason, such as no-matching-secret'),
    ...rangeOptions(),
    ...pageOptions(),
  ],
  run: (session, [networkId = '', sourceId = ''], options) => {
    const path = `${pathOfSource(networkId, sourceId)}/refused`;
    const { code, reason, from, to } = options;
    const none = 'There are no matching refusals.';
    return printList(session, { path, query: { code, reason, from, to }, columns: COLUMNS, none }, options);
  },
};

const refusedCounts: CommandSpec<RangeOptions> = {
  usage: 'refused-counts <networkId> <sourceId>',
  summary: 'Count refused deliveries of a source, and conflicts, by code and reason',
  examples: ['sealgate sources refused-counts acme src_AAAAAAAAAAAAAAAAAAAAAA --from 2030-01-01T00:00:00Z'],
  options: rangeOptions(),
  run: (session, [networkId = '', sourceId = ''], { from, to }) => {
    const path = `${pathOfSource(networkId, sourceId)}/refused/counts`;
    const none = 'There are no refusals.';
    return printList(session, { path, query: { from, to }, columns: COUNT_COLUMNS, none }, {});
  },
};

const process: CommandSpec = {
  usage: 'process <networkId> <sourceId> <refusedId>',
  summary: 'Process a kept delivery again, with the settings of its source as they are now',
  details:
    'Every check is made anew; the timestamp is compared with the time at which it was received. It is written once,\n' +
    'however often this is called and whatever its sender repeats: the first outcome is shown again. Only a source\n' +
    'with --keep-refused-hours keeps deliveries, from then on.',
  examples: ['sealgate sources process acme src_AAAAAAAAAAAAAAAAAAAAAA rfd_0190b6a7c0de7000800000000000000a --yes'],
  options: [yesOption()],
  run: async (session, [networkId = '', sourceId = '', refusedId = '']) => {
    await session.confirm(`Process the delivery ${refusedId} again? The record that it writes stays.`);
    const path = apiPath`/networks/${networkId}/sources/${sourceId}/refused/${refusedId}/process`;
    const answer = await session.api.json({ method: 'POST', path, body: {} });
    session.show(answer, (row) => rowFields(row));
    return answer.value['status'] === 200 ? undefined : 1;
  },
};

export const refusalCommands: readonly CommandSpec[] = [refused, refusedCounts, process];

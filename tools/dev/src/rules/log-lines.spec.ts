import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { createLog, type RequestRecord } from '@sealgate/observability';
import { workspaceRoot } from '../workspace.ts';
import { logLines, type Spelt } from './log-lines.ts';
import { readProjectFile } from './project-files.ts';

// With UPDATE_DOCUMENTS=1 it writes the table of events; run it like documents.spec.ts.
const write = process.env['UPDATE_DOCUMENTS'] === '1';
const PAGE = 'infra/observability/log-lines.md';
const REPEATED = [
  'proofs',
  'expiry',
  'outbox',
  'seals',
  'versions',
  'remake',
  'losses',
  'decision_heads',
  'loss_review',
];

/** Calls with computed arguments, each with the possible events and fields. */
const SPELT: Spelt = {
  'apps/case-gate/src/start-work.ts repeat({ name, everyMs, firstAfterMs, work })': REPEATED.map((name) => ({
    event: `${name}_failed`,
    levels: ['warn'],
    fields: ['reason'],
  })),
  // Each call of `repeat` is checked on its own.
  'libs/audit/src/open-surface.ts log[level](failure, { reason: reasonOf(error) })': [],
  'libs/service-host/src/run-service.ts log.error(event, { name, stack: stackOf(error) })': [
    { event: 'uncaught_exception', levels: ['error'], fields: ['name', 'stack'] },
    { event: 'unhandled_rejection', levels: ['error'], fields: ['name', 'stack'] },
  ],
  "libs/service-host/src/start-service.ts log.info('service_started', { name, ...addresses })": [
    { event: 'service_started', levels: ['info'], fields: ['name', 'publicUrl', 'opsUrl', 'adminUrl'] },
  ],
};

const { lines, faults, used } = logLines(SPELT);
const page = readProjectFile(PAGE);
const part = (name: string): string => page.split(`<!-- ${name}:begin -->`)[1]?.split(`<!-- ${name}:end -->`)[0] ?? '';
const firstCells = (text: string): string[] => [...text.matchAll(/^\| `([^`]+)`/gm)].map(([, cell = '']) => cell);

function eventRows(): string[] {
  const events = Map.groupBy(lines, ({ event }) => event);
  return [...events]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([event, its]) => {
      const fields = [...new Set(its.flatMap((line) => line.fields))].map((field) => `\`${field}\``).join(', ');
      const levels = [...new Set(its.flatMap((line) => line.levels))].join(', ');
      const owners = [...new Set(its.map(({ file }) => file.split('/src/')[0]!.replace(/^apps\/|^libs\//, '')))].join(
        ', ',
      );
      return `| \`${event}\` | ${levels} | ${fields === '' ? '-' : fields} | ${owners} |`;
    });
}

it('resolves every call that writes a line', () => {
  expect(lines.length).toBeGreaterThan(75);
  expect(faults).toEqual([]);
  // Unused exceptions are reported.
  expect(Object.keys(SPELT).filter((key) => !used.has(key))).toEqual([]);
});

it('lists every event with its levels and fields', () => {
  const table = ['| event | level | fields | where |', '|---|---|---|---|', ...eventRows()].join('\n');
  const [before, rest = ''] = page.split('<!-- events:begin -->');
  if (write)
    writeFileSync(
      join(workspaceRoot, PAGE),
      `${before}<!-- events:begin -->\n\n${table}\n\n${rest.slice(rest.indexOf('<!-- events:end -->'))}`,
    );
  else expect(part('events').trim().split('\n').slice(2)).toEqual(eventRows());
});

it('describes each field, and no other', () => {
  const fields = [...new Set(lines.flatMap((line) => line.fields))].sort();
  expect(firstCells(part('fields'))).toEqual(fields);
});

it('describes the fields of the request line, in order', async () => {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const log = createLog({ service: 'x', level: 'info', stream, now: () => 0 });
  const whole: Required<RequestRecord> = {
    method: 'GET',
    route: '/',
    status: 200,
    durationMs: 1,
    requestId: 'r',
    traceId: 't',
    code: 'c',
    keyId: 'k',
    orgId: 'o',
    networkId: 'n',
    environment: 'live',
    clientAddress: 'a',
    tokenRefused: 't',
    issuer: 'i',
    subject: 's',
    bytesIn: 1,
    bytesOut: 1,
    records: 1,
    strippedFields: 1,
    eventId: 'e',
    replayed: true,
    outcome: 'allow',
    reason: 'r',
    transactionId: 'x',
    ledgerRecordId: 'l',
    tool: 't',
  };
  log.requests.write(whole);
  await log.flush();
  const [time, level, service, event, ...fields] = Object.keys(JSON.parse(text) as object);
  expect([time, level, service, event]).toEqual(firstCells(page.split('<!-- request:begin -->')[0] ?? ''));
  expect(fields).toEqual(firstCells(part('request')));
});

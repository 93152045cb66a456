import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { checkPolicy, noteVerifier, parseCheckpoint, parseNote, parsePolicy } from '@sealgate/merkle';
import { createLog } from '@sealgate/observability';
import { until } from '@sealgate/testing';
import { Writable } from 'node:stream';
import type { WitnessOutcome } from './ask-witness.ts';
import { checkedCheckpoints } from './checked-checkpoint.ts';
import { Witnessing } from './witnessing.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';
import { standInWitness, type Misbehaviour, type StandInWitness } from './testing/stand-in-witness.ts';

const NETWORK = 'acme';
let test: TestLedger;
let witnesses: readonly [StandInWitness, StandInWitness];
let channel: string;
let channels = 0;

beforeAll(async () => {
  test = await openTestLedger();
  witnesses = [await standInWitness('witness.test/one'), await standInWitness('witness.test/two')];
}, 120_000);
afterAll(async () => {
  for (const witness of witnesses) await witness.close();
  await test.close();
});
beforeEach(async () => {
  channels += 1;
  channel = `${NETWORK}.c${channels}`;
  for (const witness of witnesses) witness.misbehave(undefined);
  await test.sql.query({ text: 'SELECT ledger.publish_signed()' });
});

function policyOf(quorum: 'both' | 'either') {
  const [one, two] = witnesses;
  return parsePolicy(
    [
      `log ${test.verifierKey}`,
      `witness one ${one.verifierKey} ${one.url}`,
      `witness two ${two.verifierKey} ${two.url}`,
      `group needed ${quorum === 'both' ? 'all' : 'any'} one two`,
      'quorum needed',
    ].join('\n'),
  );
}

/** The witnessing of one process; it uses no clock except as requested here. */
function opened(
  quorum: 'both' | 'either',
  { waitMs = 10_000, restMs = 0, answerWithinMs = 5000, now = Date.now } = {},
) {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString('utf8'));
      done();
    },
  });
  const outcomes: [string, WitnessOutcome][] = [];
  const witnessing = new Witnessing({
    sql: test.sql,
    policyOf: () => policyOf(quorum),
    waitMs,
    restMs,
    answerWithinMs,
    now,
    checked: checkedCheckpoints(ORIGIN, noteVerifier(test.verifierKey)),
    log: createLog({ service: 'test', level: 'info', stream, now: Date.now }),
    onAnswer: (witness, outcome) => outcomes.push([witness, outcome]),
  });
  return { witnessing, lines, outcomes };
}

/** Writes records and signs them. Returns the signed note. */
async function sign(count = 1): Promise<string> {
  for (let written = 0; written < count; written += 1) {
    const records = [{ id: `r${Math.random()}`, type: 'asset', owner: null, data: '{}', extra: null }];
    await test.ledger.append({ network: NETWORK, channel, note: '', records });
  }
  await test.integrator.catchUp(channel, Infinity);
  const [row] = await test.sql.query<{ note: string }>({
    text: 'SELECT ledger.checkpoint($1) AS note',
    values: [channel],
  });
  return row!.note;
}

/** Number of requests about the channel of the test. */
const askedAbout = ({ requests }: StandInWitness) => requests.filter((text) => text.includes(`/${channel}\n`)).length;
const shown = () => test.ledger.checkpoint(channel);
const sizeOf = (note: string | undefined) => (note === undefined ? undefined : parseCheckpoint(note).size);
/** In addition to the root key, which signs first. */
const signers = (note: string | undefined) =>
  parseNote(note ?? '')
    .signatures.map(({ name }) => name)
    .slice(1);
const verdict = (note: string, quorum: 'both' | 'either') =>
  checkPolicy(policyOf(quorum), note, noteVerifier(test.verifierKey)).problem;

describe('witnesses', () => {
  it('cosign each checkpoint as the log grows, and the cosigned checkpoint is published', async () => {
    const { witnessing } = opened('both');
    await witnessing.begin();
    for (const [count, size] of [
      [1, 1],
      [1, 2],
      [300, 302],
    ] as const) {
      const note = await sign(count);
      witnessing.offer(channel, note);
      await until(async () => sizeOf(await shown()) === size);
      expect(verdict((await shown())!, 'both')).toBeUndefined();
      expect((await shown())!.startsWith(note)).toBe(true);
    }
    // The assumed sizes were right, so each witness was asked once.
    expect(witnesses[0].requests.map((text) => text.split('\n')[0])).toEqual(['old 0', 'old 1', 'old 2']);
    expect(witnessing.short).toBe(0);
    const proved = await test.ledger.prove(
      channel,
      (await test.ledger.query({ channel, type: 'asset', afterId: '', limit: 1 }))[0]!.id,
    );
    expect(verdict(proved!.proof.checkpoint, 'both')).toBeUndefined();
    await witnessing.stop();
  });

  it('are asked about a busy log at intervals, and only about its newest checkpoint', async () => {
    const resting = opened('both', { restMs: 300 }).witnessing;
    await resting.begin();
    for (const _ of [1, 2, 3]) resting.offer(channel, await sign());
    await until(async () => sizeOf(await shown()) === 3);
    expect(askedAbout(witnesses[0])).toBe(2);
    await resting.stop();
    const stopped = opened('both', { restMs: 600_000 }).witnessing;
    stopped.offer(channel, await sign());
    await until(async () => sizeOf(await shown()) === 4);
    // Any number of resting logs holds up no other log.
    for (let others = 0; others < 6; others += 1) {
      channel = `${NETWORK}.c${(channels += 1)}`;
      stopped.offer(channel, await sign());
      await until(async () => sizeOf(await shown()) === 1);
    }
    await stopped.stop();
  });

  it('that have cosigned before tell a new process how much', async () => {
    const first = opened('both').witnessing;
    await first.begin();
    first.offer(channel, await sign(3));
    await until(async () => sizeOf(await shown()) === 3);
    await first.stop();
    const before = witnesses[0].requests.length;
    const second = opened('both').witnessing;
    second.offer(channel, await sign(2));
    await until(async () => sizeOf(await shown()) === 5);
    const asked = witnesses[0].requests.slice(before).map((text) => text.split('\n')[0]);
    expect(asked).toEqual(['old 0', 'old 3']);
    await second.stop();
  });

  const lies: [string, WitnessOutcome, Misbehaviour][] = [
    ['is down', 'unreachable', (response) => void response.destroy()],
    ['never answers', 'unreachable', () => undefined],
    ['answers endlessly', 'unreachable', (response) => void response.writeHead(200).end('— x '.repeat(100_000))],
    ['redirects', 'unreachable', (response) => void response.writeHead(307, { Location: 'http://127.0.0.1:9/' }).end()],
    ['does not know the log', 'unknown_log', (response) => void response.writeHead(404).end()],
    ['trusts another key', 'unknown_key', (response) => void response.writeHead(403).end()],
    ['refuses the proof', 'contradicted', (response) => void response.writeHead(422).end()],
    ['holds another tree', 'contradicted', (response) => void response.writeHead(409).end('0\n')],
    ['is ahead', 'ahead', (response) => void response.writeHead(409).end('1000000\n')],
    ['answers nonsense', 'not_cosigned', (response) => void response.writeHead(200).end('yes')],
    [
      'signs another size',
      'not_cosigned',
      (response, note) => {
        const text = parseNote(note).text.replace(/\n1\n/, '\n2\n');
        response.writeHead(200).end(witnesses[0].line(text));
      },
    ],
    [
      'returns the signature of another witness',
      'not_cosigned',
      (response, note) => void response.writeHead(200).end(witnesses[1].line(parseNote(note).text)),
    ],
    [
      'signs with a future time',
      'not_cosigned',
      (response, note) => void response.writeHead(200).end(witnesses[0].line(parseNote(note).text, 99_999_999_999)),
    ],
    [
      'signs with a zero time',
      'not_cosigned',
      (response, note) => void response.writeHead(200).end(witnesses[0].line(parseNote(note).text, 0)),
    ],
  ];
  it.each(lies)('one that %s adds nothing, is logged, and delays no other', async (_, outcome, how) => {
    witnesses[0].misbehave(how);
    const { witnessing, lines, outcomes } = opened('both', { answerWithinMs: 300 });
    await witnessing.begin();
    const note = await sign();
    witnessing.offer(channel, note);
    await until(async () => (await shown()) !== undefined);
    expect(signers(await shown())).toEqual([`${ORIGIN}/${channel}`, 'witness.test/two']);
    expect(verdict((await shown())!, 'both')).toContain('no quorum');
    expect(witnessing.short).toBe(1);
    expect(outcomes).toContainEqual(['one', outcome]);
    expect(lines.filter((line) => line.includes('"outcome":'))).toEqual([
      expect.stringContaining(`"outcome":"${outcome}"`),
    ]);
    await witnessing.stop();
  });

  it('that recover are asked again, and short checkpoints get the missing cosignatures', async () => {
    let nowMs = Date.now();
    witnesses[0].misbehave((response) => void response.destroy());
    const { witnessing, lines } = opened('both', { now: () => nowMs });
    await witnessing.begin();
    witnessing.offer(channel, await sign());
    await until(() => witnessing.short === 1);
    witnesses[0].misbehave(undefined);
    await until(async () => signers(await shown()).length === 2);
    // Not before its pause is over.
    const asked = witnesses.map(askedAbout);
    await witnessing.offerUnpublished();
    await until(async () => signers(await shown()).length === 2);
    expect(witnesses.map(askedAbout)).toEqual(asked);
    nowMs += 60_000;
    await until(async () => {
      await witnessing.offerUnpublished();
      return witnessing.short === 0;
    });
    expect(verdict((await shown())!, 'both')).toBeUndefined();
    // The other cosignature is kept.
    expect(askedAbout(witnesses[1])).toBe(asked[1]);
    expect(lines.join('')).toContain('witness_cosigns_again');
    await witnessing.stop();
  });

  it('that are slow are not waited for once there is a quorum, or the time is over', async () => {
    witnesses[0].misbehave(() => undefined);
    const either = opened('either').witnessing;
    await either.begin();
    either.offer(channel, await sign());
    await until(async () => sizeOf(await shown()) === 1);
    expect(signers(await shown())).toEqual([`${ORIGIN}/${channel}`, 'witness.test/two']);
    expect(either.short).toBe(0);
    await either.stop();
    const both = opened('both', { waitMs: 100 }).witnessing;
    both.offer(channel, await sign());
    await until(async () => sizeOf(await shown()) === 2);
    expect(both.short).toBe(1);
    await both.stop();
  });
});

describe('the published checkpoint', () => {
  it('never shrinks when witnesses are added, restarted or removed', async () => {
    await sign(5);
    expect(sizeOf(await shown())).toBe(5);
    const { witnessing } = opened('both');
    await witnessing.begin();
    expect(sizeOf(await shown())).toBe(5);
    // Signed, but not published: a crash here only costs time.
    await sign(2);
    expect(sizeOf(await shown())).toBe(5);
    await witnessing.begin();
    expect(sizeOf(await shown())).toBe(5);
    await witnessing.offerUnpublished();
    await until(async () => sizeOf(await shown()) === 7);
    await sign(1);
    await test.sql.query({ text: 'SELECT ledger.publish_signed()' });
    expect(sizeOf(await shown())).toBe(8);
    await witnessing.begin();
    expect(sizeOf(await shown())).toBe(8);
    await witnessing.stop();
  });

  it('of a new log is absent until its witnesses were asked', async () => {
    const { witnessing } = opened('both');
    await witnessing.begin();
    const note = await sign(1);
    expect(await shown()).toBeUndefined();
    witnessing.offer(channel, note);
    await until(async () => sizeOf(await shown()) === 1);
    await witnessing.stop();
  });

  it('is never replaced by an older one', async () => {
    const { witnessing } = opened('both');
    await witnessing.begin();
    const [older, newer] = [await sign(1), await sign(1)];
    witnessing.offer(channel, newer);
    await until(async () => sizeOf(await shown()) === 2);
    await test.sql.query({ text: 'SELECT ledger.publish($1, 1, $2, false)', values: [channel, older] });
    await test.sql.query({ text: `SELECT ledger.publish($1, 99, 'forged', false)`, values: [channel] });
    expect(sizeOf(await shown())).toBe(2);
    await witnessing.stop();
  });
});

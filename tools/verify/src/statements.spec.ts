import { describe, expect, it } from '@jest/globals';
import { checkpointText, EMPTY_ROOT, generateNoteKey, logKeysText, noteSigner, parseNote } from '@sealgate/merkle';
import { runCli } from './cli.ts';
import { directoryOf } from './testing/sample-log.ts';

const LEDGER = 'log.example';
const NOW = Date.parse('2030-01-02T03:04:05.000Z');
const DAY = 86_400_000;
const root = generateNoteKey(LEDGER);
const signer = noteSigner(root.privateKey);
const stranger = noteSigner(generateNoteKey(LEDGER).privateKey);
const originOf = (channel: string) => `${LEDGER}/${channel}`;
const keyOf = (channel: string, by = signer) => by.ofLog(originOf(channel)).logKeys[0]!;
const textOf = (origin: string) => checkpointText({ origin, size: 0, root: EMPTY_ROOT });
/** The text of a note with only its last signature, as for clients that know only one key. */
const byLast = (note: string) => `${parseNote(note).text}\n${note.trimEnd().split('\n').at(-1)}\n`;
const byLogKey = (channel: string, of = channel) => byLast(signer.ofLog(originOf(channel)).sign(textOf(originOf(of))));
const stated = (channel: string, { by = signer, untilMs }: { by?: typeof signer; untilMs?: number } = {}) => {
  const key = { verifierKey: keyOf(channel), fromMs: NOW - DAY, ...(untilMs === undefined ? {} : { untilMs }) };
  return by.sign(logKeysText({ origin: originOf(channel), keys: [key] }));
};

const directory = await directoryOf(
  new Map([
    ['root.vkey', root.verifierKey],
    ['log.vkey', keyOf('a.main')],
    ['both', signer.ofLog(originOf('a.main')).sign(textOf(originOf('a.main')))],
    ['main', byLogKey('a.main')],
    ['other', byLogKey('a.other')],
    ['epoch', byLogKey('a.main/e1')],
    ['crossed', byLogKey('a.main', 'a.other')],
    ['main.key', stated('a.main')],
    ['other.key', stated('a.other')],
    ['stranger.key', stated('a.main', { by: stranger })],
    ['ending.key', stated('a.main', { untilMs: NOW + 1 })],
    ['expired.key', stated('a.main', { untilMs: NOW })],
    [
      'turned.key',
      signer.sign(
        logKeysText({
          origin: originOf('a.main'),
          keys: [
            { verifierKey: keyOf('a.main', stranger), fromMs: NOW },
            { verifierKey: keyOf('a.main'), fromMs: 0, untilMs: NOW },
          ],
        }),
      ),
    ],
  ]),
);

async function run(line: string) {
  let text = '';
  const say = (more: string) => (text += more);
  const code = await runCli(line.split(' '), { out: say, err: say, directory, now: () => NOW });
  return { code, text };
}

describe('a checkpoint signed by the key of its log', () => {
  it.each([
    ['both --key root.vkey', `signed by the pinned key ${LEDGER}+`],
    ['both --key root.vkey --channel a.main', 'in the log that the key is named for'],
    ['main --key root.vkey --statement main.key', 'from a statement of the key above'],
    ['main --key root.vkey --statement main.key', `signed by the pinned key ${originOf('a.main')}+`],
    ['main --key root.vkey --statement other.key --statement main.key --channel a.main', 'VERIFIED'],
    ['main --key root.vkey --statement ending.key', 'VERIFIED'],
    ['main --key log.vkey', 'VERIFIED'],
    ['main --key log.vkey --channel a.main', 'VERIFIED'],
    [`epoch --key ${keyOf('a.main/e1')}`, 'VERIFIED'],
    [`epoch --key ${keyOf('a.main/e1')} --channel a.main/e1`, 'VERIFIED'],
  ])('is accepted by: %s', async (line, told) => {
    const { code, text } = await run(`checkpoint ${line}`);
    expect([code, text]).toEqual([0, expect.stringContaining(told)]);
  });

  it.each([
    ['main --key root.vkey', 'is not signed by the pinned key'],
    ['main --key root.vkey --statement stranger.key', 'is not signed by the pinned root key, but by log.example+'],
    ['main --key root.vkey --statement other.key', `No statement that was given is of ${originOf('a.main')}`],
    [
      'main --key root.vkey --statement expired.key',
      'has expired: its last key was good until 2030-01-02T03:04:05.000Z',
    ],
    ['main --key root.vkey --statement turned.key', 'was stated until 2030-01-02T03:04:05.000Z: its time is over'],
    ['crossed --key root.vkey --statement main.key', 'is signed by the key of another log'],
    ['crossed --key log.vkey', 'The checkpoint is of another log'],
    ['main --key log.vkey --channel a.other', 'of another log or channel'],
    ['main --key root.vkey --statement main', 'begins with the line sealgate-log-keys/v1'],
    ['main.key --key root.vkey', 'This is no checkpoint'],
    [`main --key ${keyOf('a.main', stranger)}`, 'not signed by the pinned key'],
  ])('is rejected by: %s', async (line, told) => {
    const { code, text } = await run(`checkpoint ${line}`);
    expect([code, text]).toEqual([1, expect.stringContaining(told)]);
    expect(text).toContain('NOT VERIFIED');
  });

  it('reports the location of a rejected statement, for scripts too', async () => {
    const { text } = await run('checkpoint main --key root.vkey --statement stranger.key --json');
    expect(JSON.parse(text)).toMatchObject({ verified: false, steps: [{ step: 'statement', status: 'failed' }] });
    expect((await run('checkpoint main --key root.vkey --statement nowhere')).code).toBe(2);
  });
});

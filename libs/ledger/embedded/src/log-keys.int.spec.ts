import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  anyOf,
  checkLogKeys,
  generateNoteKey,
  noteSigner,
  noteVerifier,
  parseLogKeys,
  parseNote,
} from '@sealgate/merkle';
import { until } from '@sealgate/testing';
import { embeddedLedger } from './embedded-ledger.ts';
import { Integrator } from './integrator.ts';
import { KEY_OVERLAP_DAYS } from './log-keys.ts';
import { savedCheckpoints } from './saved-checkpoints.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';

const CHANNEL = 'acme.main';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGIN = Date.parse('2030-01-02T03:04:05.000Z');
const [OLD, NEW] = [generateNoteKey(ORIGIN), generateNoteKey(ORIGIN)];
const keyOf = (root: typeof OLD, channel = CHANNEL) =>
  noteSigner(root.privateKey).ofLog(`${ORIGIN}/${channel}`).logKeys[0]!;

let test: TestLedger;
let folder: string;
let nowMs = BEGIN;
let written = 0;

beforeAll(async () => {
  test = await openTestLedger();
  folder = mkdtempSync(join(tmpdir(), 'sealgate-log-keys-'));
}, 120_000);
afterAll(async () => {
  await test.close();
  rmSync(folder, { recursive: true });
});

/** A process that signs with these root keys, in this order, and trusts the signatures of all `published` ones. */
function open(signing: readonly (typeof OLD)[], published: readonly (typeof OLD)[] = [OLD, NEW]) {
  const verifier = anyOf(published.map(({ verifierKey }) => noteVerifier(verifierKey)))!;
  const integrator = new Integrator({
    sql: test.sql,
    signer: noteSigner(signing.map(({ privateKey }) => privateKey).join(',')),
    verifier,
    origin: ORIGIN,
    leavesAtOnce: 65_536,
    deadlineMs: 10_000,
    saved: savedCheckpoints(folder, () => nowMs),
    everyMs: 10,
    compareEveryMs: 60_000,
    now: () => nowMs,
  });
  const ledger = embeddedLedger({ sql: test.sql, origin: ORIGIN, integrator, verifier, now: Date.now });
  const write = async (channel = CHANNEL) => {
    const records = [{ id: `r${(written += 1)}`, type: 'asset', owner: null, data: '{}', extra: null }];
    await ledger.append({ network: 'acme', channel, note: '', records });
    await integrator.catchUp(channel, Infinity);
  };
  const stated = async (channel = CHANNEL) => parseLogKeys((await ledger.logKeys(channel))!).keys;
  return { integrator, ledger, write, stated };
}
const stored = async (channel = CHANNEL) =>
  (await test.sql.query<{ note: string }>({ text: 'SELECT note FROM ledger.log_keys($1)', values: [[channel]] }))[0]
    ?.note;
const verifies = (root: typeof OLD, note: string) =>
  checkLogKeys(noteVerifier(root.verifierKey), note, nowMs).problem === undefined;

describe('the keys of a log', () => {
  it('are stated with its first checkpoint, signed by the log key and the root key', async () => {
    const { ledger, write, stated } = open([OLD], [OLD]);
    expect(await ledger.logKeys(CHANNEL)).toBeUndefined();
    await write();
    expect(await stated()).toEqual([{ verifierKey: keyOf(OLD), fromMs: BEGIN }]);
    expect(verifies(OLD, (await ledger.logKeys(CHANNEL))!)).toBe(true);
    expect(await ledger.exploration.logKeys(CHANNEL)).toBe(await ledger.logKeys(CHANNEL));
    const { signatures } = parseNote((await ledger.checkpoint(CHANNEL))!);
    expect(signatures.map(({ name }) => name)).toEqual([ORIGIN, `${ORIGIN}/${CHANNEL}`]);
    const before = await stored();
    nowMs += HOUR;
    await write();
    expect(await stored()).toBe(before);
  });

  it('are stated by both root keys during a rotation, and the old ones stay valid for the overlap', async () => {
    nowMs = BEGIN + DAY;
    const { ledger, write, stated } = open([NEW, OLD]);
    await write();
    const untilMs = nowMs + KEY_OVERLAP_DAYS * DAY;
    const turned = [
      { verifierKey: keyOf(NEW), fromMs: nowMs },
      { verifierKey: keyOf(OLD), fromMs: BEGIN, untilMs },
    ];
    expect(await stated()).toEqual(turned);
    const note = (await ledger.logKeys(CHANNEL))!;
    expect([OLD, NEW].map((root) => verifies(root, note))).toEqual([true, true]);
    const { signatures } = parseNote((await ledger.checkpoint(CHANNEL))!);
    expect(signatures.map(({ keyHash }) => keyHash)).toEqual(
      [NEW.verifierKey, OLD.verifierKey, keyOf(NEW), keyOf(OLD)].map((key) => noteVerifier(key).keyHash),
    );
    // The old root key is gone: the statement signed by both remains valid, and the end is not postponed.
    nowMs += 10 * DAY;
    const alone = open([NEW]);
    await alone.write();
    expect(await alone.stated()).toEqual(turned);
  });

  it('are stated again after switching back to the previous root key', async () => {
    const back = open([OLD]);
    await back.write();
    expect(await back.stated()).toEqual([
      { verifierKey: keyOf(OLD), fromMs: BEGIN },
      { verifierKey: keyOf(NEW), fromMs: BEGIN + DAY, untilMs: nowMs + KEY_OVERLAP_DAYS * DAY },
    ]);
  });

  it('are stated for idle logs, too', async () => {
    const idle = 'acme.idle';
    await open([OLD]).write(idle);
    const { integrator, stated } = open([NEW, OLD]);
    await integrator.start();
    await until(async () => (await stated(idle))[0]?.verifierKey === keyOf(NEW, idle));
    await integrator.stop();
  });

  it('are rewritten within an hour if edited or removed, and not served meanwhile', async () => {
    const { ledger, write, stated } = open([NEW]);
    await write();
    const good = await stored();
    const forged = noteSigner(generateNoteKey(ORIGIN).privateKey).sign(parseNote(good!).text);
    for (const edit of [`UPDATE ledger.log_keys SET note = '${forged}'`, 'DELETE FROM ledger.log_keys']) {
      await test.sql.query({ text: edit });
      if (edit.startsWith('UPDATE'))
        await expect(ledger.logKeys(CHANNEL)).rejects.toThrow('signed by no published key');
      else expect(await ledger.logKeys(CHANNEL)).toBeUndefined();
      await write();
      expect(await stored()).toBe(edit.startsWith('UPDATE') ? forged : undefined);
      nowMs += HOUR;
      await write();
      expect(await stated()).toEqual([{ verifierKey: keyOf(NEW), fromMs: nowMs }]);
    }
  });

  it('are not taken from a statement of another log', async () => {
    await open([NEW]).write('acme.other');
    await test.sql.query({
      text: `UPDATE ledger.log_keys SET note = (SELECT note FROM ledger.log_keys($1))
              WHERE note = (SELECT note FROM ledger.log_keys($2))`,
      values: [['acme.other'], [CHANNEL]],
    });
    const { write, stated } = open([NEW]);
    await write();
    expect(await stated()).toEqual([{ verifierKey: keyOf(NEW), fromMs: nowMs }]);
  });

  it('are rolled back with the checkpoint', async () => {
    const channel = 'acme.crashed';
    await test.sql.query({
      text: `CREATE FUNCTION ledger.crash() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'crash'; END $$`,
    });
    await test.sql.query({
      text: 'CREATE CONSTRAINT TRIGGER crash AFTER INSERT ON ledger.log_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger.crash()',
    });
    const { ledger, write, stated } = open([NEW]);
    await expect(write(channel)).rejects.toThrow();
    expect([await ledger.checkpoint(channel), await ledger.logKeys(channel)]).toEqual([undefined, undefined]);
    await test.sql.query({ text: 'DROP TRIGGER crash ON ledger.log_keys' });
    await write(channel);
    expect(await stated(channel)).toEqual([{ verifierKey: keyOf(NEW, channel), fromMs: nowMs }]);
  });
});

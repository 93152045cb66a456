import { describe, expect, it } from '@jest/globals';
import { checkpointText } from './checkpoint.ts';
import { checkLogKeys, logKeysText, parseLogKeys, statedVerifier, type LogKeys } from './log-keys.ts';
import { checkPolicy, parsePolicy } from './log-policy.ts';
import { generateNoteKey, noteSigner } from './note-signer.ts';
import { noteVerifier, parseNote } from './note.ts';
import { EMPTY_ROOT } from './tree-hash.ts';

// Computed with Python's hmac by RFC 5869 and OpenSSL: the seed is the bytes 0 to 31.
const ROOT_KEY = 'PRIVATE+KEY+ledger.example+d39ecdc2+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f';
const ROOT_VKEY = 'ledger.example+d39ecdc2+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4';
const ORIGIN = 'ledger.example/acme.main';
const LOG_VKEY = 'ledger.example/acme.main+3b23c31c+AXdGuhOjZVWduDOTEXSb08tEQgrM4+QCceC8Y5IMpbT0';

const NOW = Date.parse('2030-01-02T03:04:05.678Z');
const DAY = 86_400_000;
const signer = noteSigner(ROOT_KEY);
const root = noteVerifier(ROOT_VKEY);
const keys: LogKeys = { origin: ORIGIN, keys: [{ verifierKey: LOG_VKEY, fromMs: NOW }] };
const statement = signer.sign(logKeysText(keys));
const textOf = (origin: string) => checkpointText({ origin, size: 0, root: EMPTY_ROOT });
/** The note with the signature line of this key id only. */
const signedBy = (note: string, keyHash: string): string => {
  const { text, signatures } = parseNote(note);
  const lines = note.slice(text.length + 1).split(/(?<=\n)/);
  return `${text}\n${lines.filter((_, at) => signatures[at]?.keyHash === keyHash).join('')}`;
};
const byLogKey = (origin: string): string => {
  const ofLog = signer.ofLog(origin);
  return signedBy(ofLog.sign(textOf(origin)), noteVerifier(ofLog.logKeys[0]!).keyHash);
};

describe('the key of a log', () => {
  it('is derived from the root key, and named after the log', () => {
    expect(signer.verifierKey).toBe(ROOT_VKEY);
    expect(signer.ofLog(ORIGIN).logKeys).toEqual([LOG_VKEY]);
    expect(signer.ofLog('ledger.example/acme.other').logKeys[0]!.slice(-44)).not.toBe(LOG_VKEY.slice(-44));
    expect(signer.ofLog(ORIGIN)).toBe(signer.ofLog(ORIGIN));
    expect(() => signer.ofLog('a log')).toThrow('A key name');
  });

  it('signs after the root key, so that verifiers that pinned it need no change', () => {
    const note = signer.ofLog(ORIGIN).sign(textOf(ORIGIN));
    expect(parseNote(note).signatures.map(({ name, keyHash }) => `${name}+${keyHash}`)).toEqual([
      'ledger.example+d39ecdc2',
      'ledger.example/acme.main+3b23c31c',
    ]);
    expect(root.verify(note)).toEqual({ text: textOf(ORIGIN) });
    expect(noteVerifier(LOG_VKEY).verify(note)).toEqual({ text: textOf(ORIGIN) });
  });

  it('exists once per root key while two sign', () => {
    const next = generateNoteKey('ledger.example');
    const both = noteSigner(`${next.privateKey},${ROOT_KEY}`).ofLog(ORIGIN);
    const alone = noteSigner(next.privateKey).ofLog(ORIGIN);
    expect(both.logKeys).toEqual([...alone.logKeys, LOG_VKEY]);
    expect(both.verifierKeys).toEqual([next.verifierKey, ROOT_VKEY, ...alone.logKeys, LOG_VKEY]);
  });

  it('satisfies a policy that names two logs, each by its own key', () => {
    const other = 'ledger.example/acme.other';
    const policy = parsePolicy(`log ${LOG_VKEY}\nlog ${signer.ofLog(other).logKeys[0]}\nquorum none\n`);
    for (const origin of [ORIGIN, other])
      expect(checkPolicy(policy, signer.ofLog(origin).sign(textOf(origin)))).toMatchObject({ checkpoint: { origin } });
    expect(checkPolicy(policy, signer.ofLog(ORIGIN).sign(textOf(other))).problem).toContain('not signed by a key');
  });
});

describe('a statement of log keys', () => {
  it('has the documented format', () => {
    const text = logKeysText({
      ...keys,
      keys: [...keys.keys, { verifierKey: LOG_VKEY, fromMs: 0, untilMs: NOW + DAY }],
    });
    expect(text).toBe(
      `sealgate-log-keys/v1\n${ORIGIN}\nkey ${LOG_VKEY} from 2030-01-02T03:04:05.678Z\n` +
        `key ${LOG_VKEY} from 1970-01-01T00:00:00.000Z until 2030-01-03T03:04:05.678Z\n`,
    );
    expect(parseLogKeys(text).keys[1]).toEqual({ verifierKey: LOG_VKEY, fromMs: 0, untilMs: NOW + DAY });
    expect(parseLogKeys(statement)).toEqual(keys);
  });

  const line = `key ${LOG_VKEY} from 2030-01-02T03:04:05.678Z\n`;
  it.each([
    ['another format', `sealgate-log-keys/v2\n${ORIGIN}\n${line}`, 'begins with the line'],
    ['no origin', `sealgate-log-keys/v1\n\n${line}`, 'is the origin of the log'],
    ['no key', `sealgate-log-keys/v1\n${ORIGIN}\n`, 'from 1 to 100 keys'],
    ['no end', `sealgate-log-keys/v1\n${ORIGIN}\n${line.trimEnd()}`, 'ends in a newline'],
    ['too many keys', `sealgate-log-keys/v1\n${ORIGIN}\n${line.repeat(101)}`, 'from 1 to 100 keys'],
    ['a key of another log', `sealgate-log-keys/v1\nledger.example/acme.other\n${line}`, 'a key in it is named'],
    ['an invalid date', `sealgate-log-keys/v1\n${ORIGIN}\n${line.replace('01-02', '02-30')}`, 'is no time'],
    ['another line', `sealgate-log-keys/v1\n${ORIGIN}\n${line}more\n`, 'A key of a statement reads'],
    ['a checkpoint', textOf(ORIGIN), 'begins with the line'],
  ])('is rejected with %s', (_, text, problem) => {
    expect(() => parseLogKeys(text)).toThrow(problem);
  });

  it('is trusted if the pinned root key signed it', () => {
    expect(checkLogKeys(root, statement, NOW)).toEqual(keys);
    const text = logKeysText({ ...keys, keys: [{ ...keys.keys[0]!, untilMs: NOW }] });
    const stranger = noteSigner(generateNoteKey('ledger.example').privateKey);
    const elsewhere = noteSigner(generateNoteKey('other.example').privateKey);
    const foreign = {
      origin: 'other.example/a.b',
      keys: [{ verifierKey: elsewhere.ofLog('other.example/a.b').logKeys[0]!, fromMs: 0 }],
    };
    for (const [note, problem] of [
      [stranger.sign(logKeysText(keys)), `The statement of ${ORIGIN} is not signed by the pinned root key, but by`],
      [signer.sign(logKeysText(foreign)), 'which is no log of the ledger ledger.example'],
      [signer.sign(text), 'has expired: its last key was good until 2030-01-02T03:04:05.678Z'],
      [statement.replace('2030', '2031'), 'not signed by the pinned root key'],
      ['nothing', 'blank line'],
    ] as const)
      expect(checkLogKeys(root, note, NOW).problem).toContain(problem);
    expect(checkLogKeys(root, signer.sign(text), NOW - 1).problem).toBeUndefined();
  });
});

describe('a root key with statements', () => {
  const other = 'ledger.example/acme.other';
  const verifier = statedVerifier(root, [keys], NOW);

  it('trusts a checkpoint signed by the key of the log only', () => {
    expect(root.verify(byLogKey(ORIGIN))).toBeUndefined();
    expect(verifier.verify(byLogKey(ORIGIN))).toEqual({ text: textOf(ORIGIN) });
    expect(verifier.verify(signer.sign(textOf(other)))).toEqual({ text: textOf(other) });
    expect(verifier.refusal(byLogKey(ORIGIN))).toBeUndefined();
  });

  it('trusts no key for another log, and reports it', () => {
    const ofLog = signer.ofLog(ORIGIN);
    const crossed = signedBy(ofLog.sign(textOf(other)), '3b23c31c');
    expect(noteVerifier(LOG_VKEY).verify(crossed)).toBeDefined();
    expect(verifier.verify(crossed)).toBeUndefined();
    expect(verifier.refusal(crossed)).toBe(
      `The checkpoint of ${other} is signed by the key of another log, ${ORIGIN}+3b23c31c.`,
    );
    expect(verifier.verify(byLogKey(other))).toBeUndefined();
    expect(verifier.refusal(byLogKey(other))).toBe(`No statement that was given is of ${other}: of ${ORIGIN}.`);
  });

  it('trusts a key until its stated end, and reports when that was', () => {
    const ending = { ...keys, keys: [{ verifierKey: LOG_VKEY, fromMs: 0, untilMs: NOW }] };
    expect(statedVerifier(root, [ending], NOW - 1).verify(byLogKey(ORIGIN))).toBeDefined();
    const over = statedVerifier(root, [ending], NOW);
    expect(over.verify(byLogKey(ORIGIN))).toBeUndefined();
    expect(over.refusal(byLogKey(ORIGIN))).toContain('was stated until 2030-01-02T03:04:05.678Z: its time is over.');
    expect(over.refusal('nothing')).toContain('No statement that was given is of');
  });
});

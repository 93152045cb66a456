import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkPolicy, generateNoteKey, noteVerifier, parseCheckpoint, parseNote, parsePolicy } from '@sealgate/merkle';
import { createLog, Metrics } from '@sealgate/observability';
import { until } from '@sealgate/testing';
import { LedgerNotOpenedError, openEmbeddedLedger } from './open-embedded-ledger.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';
import { standInWitness } from './testing/stand-in-witness.ts';
import type { OpenLedgerOptions } from './open-ledger-options.ts';

let test: TestLedger;
beforeAll(async () => {
  test = await openTestLedger();
});
afterAll(() => test.close());

function open(config: Partial<OpenLedgerOptions['config']>) {
  const owned: { name: string; release: () => void | Promise<void> }[] = [];
  const metrics = new Metrics('test', { processMetrics: false });
  const opening = openEmbeddedLedger({
    config: {
      ledgerOrigin: ORIGIN,
      ledgerIntegrator: true,
      ledgerSigningKey: generateNoteKey(ORIGIN).privateKey,
      ledgerVerifierKeys: [],
      checkpointDir: test.checkpointFolder,
      ...config,
    },
    sql: test.sql,
    now: Date.now,
    log: createLog({ service: 'test', level: 'error', stream: new PassThrough(), now: Date.now }),
    metrics,
    own: (name, release) => owned.push({ name, release }),
  });
  const release = async () => {
    for (const { release: letGo } of owned.toReversed()) await letGo();
  };
  return { opening, owned, metrics, release };
}

const place = { network: 'acme', channel: 'acme.opened', note: '' };
const record = { id: 'a', type: 't', owner: null, data: '{}', extra: null };

describe('the ledger of a surface', () => {
  it('signs if it integrates, counts, and can be released', async () => {
    const { opening, owned, metrics, release } = open({});
    const ledger = await opening;
    await ledger.append({ ...place, records: [record] });
    const proved = await ledger.prove('acme.opened', 'a');
    expect(proved?.proof.treeSize).toBe(1);
    expect(owned.map(({ name }) => name)).toEqual(['partitions', 'ledger', 'integrator']);
    // A checkpoint is readable once committed, and counted right after.
    const isCounted = async () => /ledger_checkpoints_total\{service="test"\} [1-9]/.test(await metrics.text());
    await until(isCounted, { what: 'the count of checkpoints' });
    await release();
  });

  it('has its checkpoints cosigned if a policy names witnesses, and continues without if not', async () => {
    const channel = 'acme.witnessed';
    const witness = await standInWitness();
    const policy = parsePolicy(`witness w ${witness.verifierKey} ${witness.url}\nquorum w\n`);
    const key = generateNoteKey(ORIGIN);
    const checkpointDir = mkdtempSync(join(tmpdir(), 'sealgate-witnessed-'));
    const config = { ledgerSigningKey: key.privateKey, checkpointDir };
    const one = open({ ...config, ledgerWitnesses: policy });
    const ledger = await one.opening;
    await ledger.append({ ...place, channel, records: [record] });
    const verdict = async (of: typeof ledger) =>
      checkPolicy(policy, (await of.checkpoint(channel)) ?? '', noteVerifier(key.verifierKey)).problem;
    await until(async () => (await verdict(ledger)) === undefined);
    const text = await one.metrics.text();
    expect(text).toMatch(/ledger_witness_answers_total\{[^}]*outcome="cosigned"[^}]*\} [1-9]/);
    expect(text).toContain('ledger_uncosigned_logs');
    await one.release();
    const other = open(config);
    const without = await other.opening;
    await without.append({ ...place, channel, records: [{ ...record, id: 'b' }] });
    await until(async () => parseCheckpoint((await without.checkpoint(channel))!).size === 2);
    expect(parseNote((await without.checkpoint(channel))!).signatures.map(({ name }) => name)).toEqual([
      ORIGIN,
      `${ORIGIN}/${channel}`,
    ]);
    await other.release();
    await witness.close();
    rmSync(checkpointDir, { recursive: true });
  });

  it('has each channel cosigned by the witnesses of its own policy, and one without any served as signed', async () => {
    const [common, own] = [await standInWitness('witness.test/common'), await standInWitness('witness.test/own')];
    const policy = (name: string, { verifierKey, url }: typeof own) =>
      parsePolicy(`witness ${name} ${verifierKey} ${url}\nquorum ${name}\n`);
    const key = generateNoteKey(ORIGIN);
    const checkpointDir = mkdtempSync(join(tmpdir(), 'sealgate-channels-'));
    const policies = {
      all: policy('common', common),
      special: policy('own', own),
      plain: parsePolicy('quorum none\n'),
    };
    const one = open({
      ledgerSigningKey: key.privateKey,
      checkpointDir,
      ledgerWitnesses: policies.all,
      ledgerChannelWitnesses: new Map([
        ['acme.special', policies.special],
        ['acme.plain', policies.plain],
      ]),
    });
    const ledger = await one.opening;
    const cosignersOf = async (channel: string) => {
      const note = (await ledger.checkpoint(channel)) ?? '';
      return Object.entries(policies)
        .filter(([, each]) => each.witnesses.length > 0)
        .filter(([, each]) => checkPolicy(each, note, noteVerifier(key.verifierKey)).problem === undefined)
        .map(([name]) => name);
    };
    for (const channel of ['acme.usual', 'acme.special', 'acme.plain'])
      await ledger.append({ ...place, channel, records: [record] });
    await until(async () => (await cosignersOf('acme.usual')).length > 0, { what: 'the common witness' });
    await until(async () => (await cosignersOf('acme.special')).length > 0, { what: 'the own witness' });
    await until(async () => (await ledger.checkpoint('acme.plain')) !== undefined, { what: 'a checkpoint' });
    expect(await cosignersOf('acme.usual')).toEqual(['all']);
    expect(await cosignersOf('acme.special')).toEqual(['special']);
    expect(await cosignersOf('acme.plain')).toEqual([]);
    expect(parseNote((await ledger.checkpoint('acme.plain'))!).signatures.map(({ name }) => name)).toEqual([
      ORIGIN,
      `${ORIGIN}/acme.plain`,
    ]);
    await one.release();
    await common.close();
    await own.close();
    rmSync(checkpointDir, { recursive: true });
  });

  it('knows no key if none is configured', async () => {
    const { opening, owned, metrics, release } = open({ ledgerIntegrator: false });
    await opening;
    expect(owned.map(({ name }) => name)).toEqual(['partitions', 'ledger']);
    expect(await metrics.text()).not.toContain('ledger_checkpoints_total');
    await release();
  });

  it('continues under a new key if the previous one is published, signed by one of them or by both', async () => {
    const channel = 'acme.rotated';
    const [old, next] = [generateNoteKey(ORIGIN), generateNoteKey(ORIGIN)];
    const checkpointDir = mkdtempSync(join(tmpdir(), 'sealgate-rotated-'));
    const write = async (config: Partial<OpenLedgerOptions['config']>, id: string) => {
      const { opening, release } = open({ checkpointDir, ...config });
      await opening.catch(release);
      const ledger = await opening;
      await ledger.append({ ...place, channel, records: [{ ...record, id }] });
      const proved = await ledger.prove(channel, id);
      const first = await ledger.prove(channel, 'r0');
      await release();
      return [proved!, first!].map(({ proof }) => {
        const { signatures } = parseNote(proof.checkpoint);
        const ofLog = signatures.filter(({ name }) => name === `${ORIGIN}/${channel}`);
        const ofRoot = signatures.filter(({ name }) => name === ORIGIN).map(({ keyHash }) => keyHash);
        expect(signatures).toEqual([...signatures.slice(0, ofRoot.length), ...ofLog]);
        expect(ofLog).toHaveLength(ofRoot.length);
        return ofRoot;
      });
    };
    const [ofOld, ofNext] = [old, next].map(({ verifierKey }) => noteVerifier(verifierKey).keyHash);
    expect(await write({ ledgerSigningKey: old.privateKey }, 'r0')).toEqual([[ofOld], [ofOld]]);

    // Stored and kept by the old key only, which is not published to this process.
    await expect(write({ ledgerSigningKey: next.privateKey }, 'lost')).rejects.toThrow(
      new RegExp(`signed by no published key, but by ${ORIGIN}\\+${ofOld}, ${ORIGIN}/${channel}\\+[0-9a-f]{8}`),
    );
    const both = `${next.privateKey},${old.privateKey}`;
    expect(await write({ ledgerSigningKey: both }, 'r1')).toEqual([
      [ofNext, ofOld],
      [ofNext, ofOld],
    ]);
    const published = { ledgerSigningKey: next.privateKey, ledgerVerifierKeys: [old.verifierKey] };
    expect(await write(published, 'r2')).toEqual([[ofNext], [ofNext]]);

    // Verifiers need the signing key; an additional one is harmless.
    const reading = async (ledgerVerifierKeys: string[]) => {
      const { opening, release } = open({ ledgerIntegrator: false, ledgerSigningKey: undefined, ledgerVerifierKeys });
      const ledger = await opening;
      const audit = await ledger.audit(channel);
      return ledger
        .prove(channel, 'r2')
        .then(() => audit.ok, String)
        .finally(release);
    };
    expect(await reading([old.verifierKey, next.verifierKey])).toBe(true);
    expect(await reading([old.verifierKey])).toMatch(/signed by no published key/);
    rmSync(checkpointDir, { recursive: true });
  });

  it('takes over from a process that still signs with the old key, and hands back', async () => {
    const channel = 'acme.beside';
    const keys = [generateNoteKey(ORIGIN), generateNoteKey(ORIGIN)];
    const opened = keys.map(({ privateKey }, at) => {
      const checkpointDir = mkdtempSync(join(tmpdir(), `sealgate-beside-${at}-`));
      const ledgerVerifierKeys = keys.map(({ verifierKey }) => verifierKey);
      return { ...open({ checkpointDir, ledgerSigningKey: privateKey, ledgerVerifierKeys }), checkpointDir };
    });
    const ledgers = await Promise.all(opened.map(({ opening }) => opening));
    for (let turn = 0; turn < 30; turn += 1) {
      const id = `r${turn}`;
      await ledgers[turn % 2]!.append({ ...place, channel, records: [{ ...record, id }] });
      const proofs = await Promise.all(ledgers.map((ledger) => ledger.prove(channel, id)));
      expect(proofs.map((proved) => proved?.receipt.index)).toEqual([turn, turn]);
    }
    // Channels of earlier tests use other keys.
    const problems = await Promise.all(ledgers.map(async (ledger) => (await ledger.health()).problem));
    expect(problems.join()).not.toContain(channel);
    for (const { release, checkpointDir } of opened) {
      await release();
      rmSync(checkpointDir, { recursive: true });
    }
  }, 60_000);

  it.each<[string, Partial<OpenLedgerOptions['config']>, string]>([
    ['a key of another ledger', { ledgerOrigin: 'other.test' }, 'LEDGER_SIGNING_KEY belongs to another ledger'],
    [
      'an unparsable verifier key',
      { ledgerVerifierKeys: ['x'] },
      'LEDGER_VERIFIER_KEYS holds an invalid C2SP verifier key',
    ],
    ['an unparsable signing key', { ledgerSigningKey: 'PRIVATE+KEY+x' }, 'LEDGER_SIGNING_KEY is not a C2SP note key'],
    [
      'a key that did not sign the kept checkpoints',
      { ledgerSigningKey: generateNoteKey(ORIGIN).privateKey },
      'The ledger must not be continued.',
    ],
  ])('is not opened with %s', async (_, config, said) => {
    const { opening, release } = open(config);
    await expect(opening).rejects.toThrow(said);
    await expect(opening).rejects.toBeInstanceOf(LedgerNotOpenedError);
    await release();
  });
});

describe('the ledger for an operator', () => {
  it('erases for an operator while others look at the ledger and are not answered', async () => {
    const { opening, release } = open({ ledgerIntegrator: false, adminDatabaseUrl: test.url, adminPort: 1 });
    const { administration, append } = await opening;
    await append({ ...place, channel: 'acme.erased', records: [record] });
    await test.sql.transaction(async (sql) => {
      // Lists of channels wait for this table, erasures do not.
      await sql.query({ text: 'LOCK TABLE ledger.checkpoints' });
      const looks = Array.from({ length: 8 }, () => administration.exploration.overview({ after: '', limit: 200 }));
      const looked = Promise.allSettled(looks);
      expect(await administration.erase('acme.erased', 'a', 'asked for')).toBe(true);
      for (const { status } of await looked) expect(status).toBe('rejected');
    });
    await release();
  });
});

import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateNoteKey } from '@sealgate/merkle';
import { createLog, Metrics } from '@sealgate/observability';
import { LedgerNotOpenedError, openEmbeddedLedger, type OpenLedgerOptions } from './open-embedded-ledger.ts';
import { openTestLedger, ORIGIN, type TestLedger } from './testing/open-test-ledger.ts';

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
  it('signs where it integrates, counts, and can be let go of', async () => {
    const { opening, owned, metrics, release } = open({});
    const ledger = await opening;
    await ledger.append({ ...place, records: [record] });
    const proved = await ledger.prove('acme.opened', 'a');
    expect(proved?.proof.treeSize).toBe(1);
    expect(owned.map(({ name }) => name)).toEqual(['ledger', 'integrator']);
    expect(await metrics.text()).toMatch(/ledger_checkpoints_total\{service="test"\} [1-9]/);
    await release();
  });

  it('knows no key where it does not', async () => {
    const { opening, owned, metrics, release } = open({ ledgerIntegrator: false });
    await opening;
    expect(owned.map(({ name }) => name)).toEqual(['ledger']);
    expect(await metrics.text()).not.toContain('ledger_checkpoints_total');
    await release();
  });

  it.each<[string, Partial<OpenLedgerOptions['config']>, string]>([
    ['a key of another ledger', { ledgerOrigin: 'other.test' }, 'LEDGER_SIGNING_KEY is of another ledger'],
    ['what checks nothing', { ledgerVerifierKeys: ['x'] }, 'LEDGER_VERIFIER_KEYS holds what is no C2SP verifier key'],
    ['what is no key', { ledgerSigningKey: 'PRIVATE+KEY+x' }, 'LEDGER_SIGNING_KEY is not a C2SP note key'],
    [
      'a key that did not sign what is kept',
      { ledgerSigningKey: generateNoteKey(ORIGIN).privateKey },
      'The ledger must not be continued.',
    ],
  ])('is not opened with %s', async (_, config, said) => {
    const { opening } = open(config);
    await expect(opening).rejects.toThrow(said);
    await expect(opening).rejects.toBeInstanceOf(LedgerNotOpenedError);
  });
});

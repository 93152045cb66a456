import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FAILURE_CODES } from './asset-result.ts';
import { Mappings } from './mapping.ts';
import { planBatches, type Plan } from './plan-batches.ts';
import { runPlan, type RunOptions } from './run-plan.ts';
import { refusedFor, scriptedLedger, type Script, type ScriptedLedger } from '../testing/scripted-ledger.ts';

const mappings = new Mappings([
  {
    type: '*',
    target: {
      channel: 'acme.main',
      network: 'acme',
      chaincode: 'records',
      contract: undefined,
      transactions: { write: 'w', read: 'r', query: 'q' },
      shape: { kind: 'records' },
      write: 'create',
    },
  },
]);

const planOf = (ids: readonly string[], batchSize = 100): Plan =>
  planBatches(
    ids.map((id) => ({ id: id.split('=')[0]!, type: 'a', data: { is: id } })),
    mappings,
    { batchSize, maxBytes: 1_000_000 },
  );

async function run(
  plan: Plan,
  script: Script,
  more: Partial<RunOptions> = {},
): Promise<{ ledger: ScriptedLedger; states: string[]; outcome: Awaited<ReturnType<typeof runPlan>> }> {
  const ledger = scriptedLedger(script);
  const options = { ledger, continueOnError: false, batchesAtOnce: 4, mayGoOn: () => true, ...more };
  const outcome = await runPlan(plan, options);
  const states = outcome.results.map((result) =>
    result?.state === 'failed' ? result.code : (result?.state ?? 'open'),
  );
  return { ledger, states, outcome };
}

const ALONE = { continueOnError: false, batchesAtOnce: 1, mayGoOn: () => true };

const letters = 'abcdefghijklmnopqrstuvwxyz'.split('');

describe('running a plan', () => {
  it('can fail assets with each documented code', async () => {
    const write: Script['write'] = ([id]) => {
      if (id === 'odd') return { outcome: 'refused', code: 'INVALID_REQUEST', message: 'It is odd.' };
      if (id === 'no') return { outcome: 'refused', code: 'CONTRACT_REFUSED', message: 'No.' };
      if (id === 'taken') return refusedFor('taken');
      if (id === 'void')
        return { outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message: 'Without effect.', retryable: true };
      return undefined;
    };
    const unmapped = planBatches([{ id: 'a', type: 'a', data: {} }], new Mappings([]), {
      batchSize: 1,
      maxBytes: 1000,
    });
    const runs = await Promise.all([
      run(unmapped, {}, { continueOnError: true }),
      run(planOf(['odd', 'late'], 1), { write }),
      run(planOf(['no'], 1), { write }),
      run(planOf(['taken'], 1), { write }),
      run(planOf(['void'], 1), { write }),
      run(planOf(['b=1', 'b=2']), {}),
    ]);
    const codes = runs.flatMap(({ states }) => states).filter((state) => state !== 'succeeded');
    // Only a job that is given up has assets whose outcome stays unknown.
    const documented = FAILURE_CODES.filter((code) => code !== 'OUTCOME_UNKNOWN');
    expect([...new Set(codes)].toSorted()).toEqual(documented.toSorted());
  });

  it('leaves what was sent before its type was taken out of the mapping as it is', async () => {
    const types = ['a', 'a', 'a'].map((type, index) => ({ id: `${type}${index}`, type, data: {} }));
    const unmapped = planBatches(types, new Mappings([]), { batchSize: 1, maxBytes: 1000 });
    const pending = { state: 'pending', transactionId: 't1' } as const;
    const refused = { state: 'failed', code: 'RECORD_CONFLICT', message: 'Taken.', retryable: false } as const;
    const options = { ...ALONE, continueOnError: true, ledger: scriptedLedger({}) };
    const { results } = await runPlan(unmapped, options, [pending, refused, undefined]);
    expect(results).toEqual([pending, refused, expect.objectContaining({ code: 'UNKNOWN_CHAINCODE' })]);
  });

  it('writes each batch as one transaction, in order', async () => {
    const { ledger, states } = await run(planOf(['a', 'b', 'c'], 2), {});
    expect(ledger.writes).toEqual([['a', 'b'], ['c']]);
    expect(states).toEqual(['succeeded', 'succeeded', 'succeeded']);
  });

  it('finds a rejected asset by halving if the contract does not name it, and writes its neighbours', async () => {
    const script: Script = {
      write: (ids) =>
        ids.includes('f') ? { outcome: 'refused', code: 'INVALID_REQUEST', message: 'f is odd' } : undefined,
    };
    const { states, outcome, ledger } = await run(planOf(letters), script);
    expect(states).toEqual(letters.map((id) => (id === 'f' ? 'INVALID_REQUEST' : 'succeeded')));
    expect(outcome.results[5]).toMatchObject({ message: 'f is odd', retryable: false });
    // Halving 26 down to one: at most two writes a level, plus the first.
    expect(ledger.writes.length).toBeLessThanOrEqual(11);
  });

  it('fails only the rejected assets, and writes their neighbours', async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray(letters), fc.boolean(), async (bad, names) => {
        const write = (ids: readonly string[]) => {
          const id = ids.find((one) => bad.includes(one));
          if (id === undefined) return undefined;
          return names ? refusedFor(id) : ({ outcome: 'refused', code: 'RECORD_CONFLICT', message: 'Taken.' } as const);
        };
        const { states } = await run(planOf(letters), { write });
        expect(states).toEqual(letters.map((id) => (bad.includes(id) ? 'RECORD_CONFLICT' : 'succeeded')));
      }),
    );
  });

  it('attempts nothing after a batch with a failed asset', async () => {
    const { states, ledger } = await run(planOf(['a', 'b', 'c', 'd'], 2), {
      write: (ids) => (ids.includes('a') ? refusedFor('a') : undefined),
    });
    expect(states).toEqual(['RECORD_CONFLICT', 'succeeded', 'NOT_ATTEMPTED', 'NOT_ATTEMPTED']);
    expect(ledger.writes).toEqual([['a', 'b'], ['b']]);
  });

  it('continues after it with continueOnError', async () => {
    const script: Script = { write: (ids) => (ids.includes('a') ? refusedFor('a') : undefined) };
    const { states } = await run(planOf(['a', 'b', 'c', 'd'], 2), script, { continueOnError: true });
    expect(states).toEqual(['RECORD_CONFLICT', 'succeeded', 'succeeded', 'succeeded']);
  });

  it('reports a repeated asset like the first, and rejects other content without sending it', async () => {
    const { states, ledger } = await run(planOf(['a=1', 'a=1', 'a=2', 'b'], 2), {});
    expect(states).toEqual(['succeeded', 'succeeded', 'RECORD_CONFLICT', 'succeeded']);
    expect(ledger.writes).toEqual([['a'], ['b']]);
    const failing = await run(planOf(['a=1', 'a=1']), { write: () => refusedFor('a') });
    expect(failing.states).toEqual(['RECORD_CONFLICT', 'RECORD_CONFLICT']);
  });

  it('passes on what the contracts return up to 1 MiB in all, and says what it leaves out', async () => {
    const json = JSON.stringify('x'.repeat(300_000));
    const script: Script = {
      write: ([id]) => ({
        outcome: 'committed',
        transactions: [{ transactionId: id!, blockNumber: 1, assetIds: [id!], returned: { json, truncated: false } }],
      }),
    };
    const left = (outcome: { results: readonly unknown[] }) =>
      outcome.results.map((result) => (result as { returned: { json: string } }).returned.json === 'null');
    const plan = planOf(['a', 'b', 'c', 'd', 'a', 'e'], 1);
    const { outcome } = await run(plan, script);
    expect(left(outcome)).toEqual([false, false, false, true, false, true]);
    expect(outcome.results[3]).toMatchObject({ returned: { json: 'null', truncated: true } });
    // What earlier runs have got counts, too.
    const again = await runPlan(plan, { ledger: scriptedLedger(script), ...ALONE }, outcome.results.slice(0, 4));
    expect(left(again)).toEqual([false, false, false, true, false, true]);
  });

  it('reports that nothing was sent if the ledger was unavailable from the start', async () => {
    const { outcome, states } = await run(planOf(['a', 'b'], 1), { write: () => ({ outcome: 'unavailable' }) });
    expect(outcome).toMatchObject({ sent: false, lost: 'unavailable' });
    expect(states).toEqual(['open', 'open']);
  });

  it.each([false, true])(
    'leaves the rest open if the ledger becomes unavailable half-way (continueOnError %s)',
    async (on) => {
      let calls = 0;
      const script: Script = { write: () => ((calls += 1) > 1 ? { outcome: 'overloaded' } : undefined) };
      const more = { continueOnError: on, batchesAtOnce: 1 };
      const { outcome, states, ledger } = await run(planOf(['a', 'b', 'c'], 1), script, more);
      expect(outcome).toMatchObject({ sent: true, lost: 'overloaded' });
      expect(states).toEqual(['succeeded', 'open', 'open']);
      expect(ledger.writes).toEqual([['a'], ['b']]);
    },
  );

  it.each([
    [true, ['halted a', 'succeeded', 'halted a', 'succeeded', 'halted a', 'RECORD_CONFLICT']],
    [false, ['halted a', 'halted a', 'halted a', 'halted a', 'halted a', 'halted a']],
  ])('holds back only assets of a halted channel, with continueOnError (%s)', async (on, expected) => {
    const target = mappings.find('a')!;
    const two = new Mappings(['a', 'b'].map((type) => ({ type, target: { ...target, channel: `acme.${type}` } })));
    const assets = ['a1', 'b1', 'a2', 'b2', 'a1', 'b1'].map((id, n) => ({ id, type: id[0]!, data: { is: n === 5 } }));
    const plan = planBatches(assets, two, { batchSize: 1, maxBytes: 1000 });
    const script: Script = {
      write: ([id]) => (id?.startsWith('a') ? { outcome: 'halted', message: 'halted a' } : undefined),
    };
    const { ledger, states, outcome } = await run(plan, script, { continueOnError: on, batchesAtOnce: 1 });
    expect(states.map((state, at) => (state === 'open' ? outcome.halted.get(at) : state))).toEqual(expected);
    expect(ledger.writes).toEqual(on ? [['a1'], ['b1'], ['b2']] : [['a1']]);
    expect(outcome).toMatchObject({ lost: undefined, sent: on });
  });

  it('reports an unknown outcome as pending, never as failed, and sends nothing after it', async () => {
    const { states, outcome } = await run(planOf(['a', 'b', 'c'], 2), {
      write: () => ({ outcome: 'unknown', transactionId: 'tx' }),
    });
    expect(states).toEqual(['pending', 'pending', 'open']);
    expect(outcome).toMatchObject({ sent: true, lost: 'unknown' });
  });

  it('reports what is known not to be written, and whether to retry', async () => {
    const { outcome } = await run(planOf(['a']), {
      write: () => ({ outcome: 'failed', code: 'LEDGER_UNAVAILABLE', message: 'Invalid.', retryable: true }),
    });
    expect(outcome.results).toEqual([
      { state: 'failed', code: 'LEDGER_UNAVAILABLE', message: 'Invalid.', retryable: true },
    ]);
  });

  it('starts no batch after the deadline', async () => {
    let left = 1;
    const { states } = await run(planOf(['a', 'b'], 1), {}, { mayGoOn: () => (left -= 1) >= 0 });
    expect(states).toEqual(['succeeded', 'open']);
  });

  it('sends single assets if the contract accepts only one', async () => {
    const { states, ledger } = await run(planOf(['a', 'b', 'c']), {
      takesMany: false,
      write: (ids) => (ids.includes('b') ? refusedFor('b') : undefined),
    });
    expect(ledger.writes).toEqual([['a'], ['b'], ['c']]);
    expect(states).toEqual(['succeeded', 'RECORD_CONFLICT', 'succeeded']);
  });
});

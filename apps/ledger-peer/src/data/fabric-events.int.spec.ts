import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { BEGINNING, END_OF_BLOCK } from '../domain/event-cursor.ts';
import type { SourceEvent } from '../domain/ledger-event.ts';
import { describeEventSource, readAll } from '../testing/describe-event-source.ts';
import { asset, freshId } from '../testing/fabric-mapping.ts';
import { fabricSuite } from '../testing/fabric-suite.ts';
import { fabricEvents } from './fabric-events.ts';

const suite = fabricSuite();
const { target, mappings } = suite;
const CHANNEL = 'acme.main';
const NEVER = new AbortController().signal;
const sourceOf = () => fabricEvents({ client: suite.client, channels: suite.channels, mappings });

/** The events of a channel that this work leads to. */
async function eventsOf(work: () => Promise<unknown>, channel = CHANNEL): Promise<SourceEvent[]> {
  const source = sourceOf();
  const start = await source.newest(channel);
  await work();
  return readAll(source, channel, start);
}

const write = async (type: string, ids: readonly string[], data = {}) => {
  const outcome = await suite.ledger.write(
    target(type),
    ids.map((id) => asset(id, type, data)),
  );
  if (outcome.outcome !== 'committed') throw new Error(JSON.stringify(outcome));
  return outcome.transactions[0]!;
};

describeEventSource('Fabric', () => ({
  channel: CHANNEL,
  source: sourceOf(),
  restarted: () => sourceOf(),
  async write(ids) {
    const { transactionId, blockNumber } = await write('ours.x', ids);
    return { transactionId, blockNumber };
  },
}));

describe('the events of our contract', () => {
  it('name each record that was written, and none that existed', async () => {
    const [old, fresh] = [freshId(), freshId()];
    await write('ours.x', [old]);
    const [event, ...others] = await eventsOf(() => write('ours.x', [old, fresh]));
    expect([event?.assets, others]).toEqual([[{ id: fresh, type: 'ours.x' }], []]);
  });

  it('say what became of an invalid transaction, which has no effect', async () => {
    suite.peer.faults.judge({ commit: 10 });
    const id = freshId();
    const events = await eventsOf(() => write('ours.x', [id]).catch(() => undefined));
    expect(events[0]).toMatchObject({ code: 'ENDORSEMENT_POLICY_FAILURE', assets: [{ id, type: 'ours.x' }] });
  });

  it('have records of their own channel alone, where several share a channel of Fabric', async () => {
    const id = freshId();
    const work = () => write('kept.x', [id]);
    expect(await eventsOf(work, 'acme.kept')).toMatchObject([{ assets: [{ id, type: 'kept.x' }] }]);
    const other = await eventsOf(work, 'acme.neighbour');
    expect(other.flatMap(({ assets }) => assets)).toEqual([]);
  });
});

describe('the events of a third-party contract', () => {
  const car = { color: 'blue', size: 5, owner: 'Tom', value: 1.5 };

  it('have what the contract emitted after the transaction', async () => {
    const id = freshId();
    const events = await eventsOf(() => write('vehicle', [id], car));
    expect(events).toMatchObject([
      { kind: 'commit', chaincode: 'basic' },
      { kind: 'contract', name: 'CreateAsset', payload: JSON.stringify(Buffer.from(id).toString('base64')) },
    ]);
    expect(events[0]?.transactionId).toBe(events[1]?.transactionId);
  });

  it('have nothing that the contract emitted in an invalid transaction', async () => {
    suite.peer.faults.judge({ commit: 10 });
    const events = await eventsOf(() => write('vehicle', [freshId()], car).catch(() => undefined));
    expect(events.map(({ kind, code }) => [kind, code])).toEqual([['commit', 'ENDORSEMENT_POLICY_FAILURE']]);
  });

  it('have a call that several mappings claim without an asset', async () => {
    const id = freshId();
    await write('vehicle', [id], car);
    const [event] = await eventsOf(() => write('transfer', [id], { owner: 'Max' }));
    expect(event).toMatchObject({ kind: 'commit', chaincode: 'basic', assets: undefined });
  });

  it('name the asset that a mapping finds in the call, and hold no private data', async () => {
    const [id, secret] = [freshId(), `secret-${freshId()}`];
    const events = await eventsOf(() =>
      suite.ledger.write(target('pin'), [{ ...asset(id, 'pin'), transient: { pin: secret } }]),
    );
    expect(events).toMatchObject([{ assets: [{ id, type: 'pin' }] }]);
    expect(JSON.stringify(events)).not.toContain(secret);
  });
});

describe('a peer that began from a snapshot', () => {
  it('has its first event in its first block, and is never skipped to from a later place', async () => {
    const blocks: (number | null)[] = [];
    for (let n = 0; n < 3; n += 1) blocks.push((await write('ours.x', [freshId()])).blockNumber);
    const [lost, first] = blocks as number[];
    suite.peer.beginAt(first!);
    try {
      const [event] = await readAll(sourceOf(), CHANNEL, BEGINNING);
      expect(event?.blockNumber).toBe(first);
      const resumed = sourceOf().read(CHANNEL, { block: lost! - 1, index: END_OF_BLOCK }, NEVER);
      await expect(resumed).rejects.toBeInstanceOf(LedgerUnavailableError);
    } finally {
      suite.peer.beginAt(0);
    }
  });
});

describe('a network out of reach', () => {
  it('makes events unavailable, and never fewer', async () => {
    await suite.peer.stop();
    try {
      await expect(sourceOf().newest(CHANNEL)).rejects.toBeInstanceOf(LedgerUnavailableError);
      await expect(sourceOf().read(CHANNEL, { block: -1, index: 0 }, NEVER)).rejects.toBeInstanceOf(
        LedgerUnavailableError,
      );
    } finally {
      await suite.peer.start();
    }
  }, 30_000);
});

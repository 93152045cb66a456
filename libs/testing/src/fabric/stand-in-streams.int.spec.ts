import { describe, expect, it } from '@jest/globals';
import { common, peer as protos } from '@hyperledger/fabric-protos';
import { until } from '../until.ts';
import { createAsset, failureOf, firstOf, freshId, record, standInSuite, textOf } from './testing/stand-in-suite.ts';

const { MVCC_READ_CONFLICT, PHANTOM_READ_CONFLICT, VALID } = protos.TxValidationCode;

const suite = standInSuite({ tls: false });

describe('block streams', () => {
  it('send every block from the first, whole and filtered, then new ones', async () => {
    const commit = await suite.records.submitAsync('createMany', { arguments: [record()] });
    const { blockNumber } = await commit.getStatus();
    const filtered = await suite.network.getFilteredBlockEvents({ startBlock: blockNumber });
    const whole = await suite.network.getBlockEvents({ startBlock: blockNumber });
    const both = await suite.network.getBlockAndPrivateDataEvents({ startBlock: blockNumber });
    const [a, b, c] = [await firstOf(filtered), await firstOf(whole), await firstOf(both)];
    expect(a.getFilteredTransactionsList().map((entry) => [entry.getTxid(), entry.getTxValidationCode()])).toEqual([
      [commit.getTransactionId(), VALID],
    ]);
    expect(BigInt(b.getHeader()!.getNumber())).toBe(blockNumber);
    expect(
      Buffer.from(b.getMetadata()!.getMetadataList_asU8()[common.BlockMetadataIndex.TRANSACTIONS_FILTER]!),
    ).toEqual(Buffer.from([VALID]));
    expect(c.getBlock()!.serializeBinary()).toEqual(b.serializeBinary());
    for (const stream of [filtered, whole, both]) stream.close();
  });

  it('start with the next block by default', async () => {
    const height = BigInt(suite.peer.channel('main').height());
    const events = await suite.network.getFilteredBlockEvents();
    const first = firstOf(events);
    // The request arrives while this one is endorsed and ordered; either block is acceptable.
    await suite.records.submitTransaction('createMany', record());
    await suite.records.submitTransaction('createMany', record());
    expect(BigInt((await first).getNumber())).toBeGreaterThanOrEqual(height);
    events.close();
  });

  it('can be held while commit status is answered', async () => {
    suite.peer.blockStreams.hold();
    const seen: unknown[] = [];
    const events = await suite.network.getFilteredBlockEvents({
      startBlock: BigInt(suite.peer.channel('main').height()),
    });
    const reading = (async () => {
      for await (const block of events) seen.push(block);
    })();
    await suite.records.submitTransaction('createMany', record());
    expect(seen).toEqual([]);
    suite.peer.blockStreams.release();
    await until(() => seen.length === 1);
    events.close();
    await reading.catch(() => undefined);
  });

  it('end with a status when they are cut', async () => {
    const events = await suite.network.getFilteredBlockEvents({
      startBlock: BigInt(suite.peer.channel('main').height()),
    });
    let isOver = false;
    const reading = failureOf(firstOf(events)).finally(() => {
      isOver = true;
    });
    await until(() => {
      suite.peer.blockStreams.cut();
      return isOver;
    });
    expect(await reading).toMatchObject({ code: 14 });
  });

  it('report injected codes', async () => {
    const commit = await suite.records.submitAsync('createMany', { arguments: [record()] });
    const { blockNumber } = await commit.getStatus();
    const transactionId = commit.getTransactionId();
    suite.peer.faults.judge({ transactionId, blocks: MVCC_READ_CONFLICT });
    const events = await suite.network.getFilteredBlockEvents({ startBlock: blockNumber });
    const [entry] = (await firstOf(events)).getFilteredTransactionsList();
    expect(entry!.getTxValidationCode()).toBe(MVCC_READ_CONFLICT);
    events.close();
    expect(await commit.getStatus()).toMatchObject({ code: VALID });
    suite.peer.faults.judge({ transactionId, commitStatus: PHANTOM_READ_CONFLICT });
    expect(await commit.getStatus()).toMatchObject({ code: PHANTOM_READ_CONFLICT });
  });

  it('refuse a missing channel', async () => {
    const events = await suite.client.gateway.getNetwork('nowhere').getFilteredBlockEvents({ startBlock: 0n });
    await expect(firstOf(events)).rejects.toThrow();
  });

  it('send chaincode events of valid transactions from the requested position', async () => {
    const start = BigInt(suite.peer.channel('main').height());
    suite.peer.faults.judge({ commit: MVCC_READ_CONFLICT });
    await failureOf(suite.assets.submitTransaction(...createAsset()));
    const [first, second] = [freshId(), freshId()];
    await suite.records.submitTransaction('createMany', record());
    const commit = await suite.assets.submitAsync('CreateAsset', { arguments: createAsset(first).slice(1) });
    await commit.getStatus();
    await suite.assets.submitTransaction(...createAsset(second));
    const events = await suite.network.getChaincodeEvents('assets', { startBlock: start });
    const event = await firstOf(events);
    expect({ ...event, payload: textOf(event.payload) }).toMatchObject({
      chaincodeName: 'assets',
      eventName: 'CreateAsset',
      payload: first,
      transactionId: commit.getTransactionId(),
    });
    const checkpoint = { getBlockNumber: () => undefined, getTransactionId: () => commit.getTransactionId() };
    const later = await suite.network.getChaincodeEvents('assets', { checkpoint });
    expect(textOf((await firstOf(later)).payload)).toBe(second);
    const filtered = await suite.network.getFilteredBlockEvents({ startBlock: event.blockNumber });
    const [entry] = (await firstOf(filtered)).getFilteredTransactionsList();
    const [action] = entry!.getTransactionActions()!.getChaincodeActionsList();
    expect(action!.getChaincodeEvent()!.getEventName()).toBe('CreateAsset');
    expect(action!.getChaincodeEvent()!.getPayload_asU8()).toHaveLength(0);
    for (const stream of [events, later, filtered]) stream.close();
  });
});

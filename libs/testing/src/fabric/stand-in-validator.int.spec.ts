import { describe, expect, it } from '@jest/globals';
import { peer as protos } from '@hyperledger/fabric-protos';
import { until } from '../until.ts';
import { connectClient } from '@sealgate/local-services/fabric';
import { createAsset, failureOf, firstOf, freshId, record, standInSuite, textOf } from './testing/stand-in-suite.ts';

const { DUPLICATE_TXID, ENDORSEMENT_POLICY_FAILURE, MVCC_READ_CONFLICT, PHANTOM_READ_CONFLICT, VALID } =
  protos.TxValidationCode;

const suite = standInSuite({ maxMessageCount: 3 });

describe('channels and chaincodes', () => {
  it('have separate states', async () => {
    const id = freshId();
    await suite.records.submitTransaction('createMany', record(id));
    expect(textOf(await suite.records.evaluateTransaction('read', id))).toContain(id);
    const elsewhere = suite.client.gateway.getNetwork('audit').getContract('records');
    expect(textOf(await elsewhere.evaluateTransaction('read', id))).toBe('');
    await expect(suite.assets.evaluateTransaction('ReadAsset', id)).rejects.toThrow(`the asset ${id} does not exist`);
  });

  it('are defined on the configured channels', async () => {
    const elsewhere = suite.client.gateway.getNetwork('audit').getContract('assets');
    expect(await failureOf(elsewhere.evaluateTransaction('GetAllAssets'))).toMatchObject({ code: 9 });
  });
});

describe('the validator', () => {
  it('detects a range that changed between simulation and commit', async () => {
    const scan = await suite.assets.newProposal('GetAllAssets').endorse();
    await suite.assets.submitTransaction(...createAsset());
    const commit = await scan.submit();
    expect(await commit.getStatus()).toMatchObject({ code: PHANTOM_READ_CONFLICT });
  });

  it('accepts an unchanged range', async () => {
    await suite.assets.submitTransaction(...createAsset());
    const commit = await (await suite.assets.newProposal('GetAllAssets').endorse()).submit();
    expect(await commit.getStatus()).toMatchObject({ code: VALID });
  });

  it('writes nothing of the second transaction on a key in one block', async () => {
    const id = freshId();
    const [first, second] = [record(id, 'first'), record(id, 'second')].map((argument) =>
      suite.records.newProposal('upsertMany', { arguments: [argument] }).endorse(),
    );
    const transactions = [await first!, await second!];
    suite.peer.orderer.hold();
    const commits = [await transactions[0]!.submit(), await transactions[1]!.submit()];
    expect(suite.peer.channel('main').pending()).toBe(2);
    suite.peer.orderer.release();
    expect(await commits[1]!.getStatus()).toMatchObject({ code: MVCC_READ_CONFLICT });
    expect(await commits[0]!.getStatus()).toMatchObject({
      code: VALID,
      blockNumber: (await commits[1]!.getStatus()).blockNumber,
    });
    expect(JSON.parse(textOf(await suite.records.evaluateTransaction('read', id)))).toMatchObject({
      data: { text: 'first' },
    });
  });

  it('keeps the first status of a transaction that was ordered twice', async () => {
    const transaction = await suite.records.newProposal('createMany', { arguments: [record()] }).endorse();
    await (await transaction.submit()).getStatus();
    await transaction.submit();
    const codes = () =>
      suite.peer
        .channel('main')
        .transactions()
        .filter(({ transactionId }) => transactionId === transaction.getTransactionId())
        .map(({ code }) => code);
    await until(() => codes().length === 2);
    expect(codes()).toEqual([VALID, DUPLICATE_TXID]);
  });

  it('refuses a transaction not endorsed by the peer', async () => {
    const transaction = await suite.records.newProposal('createMany', { arguments: [record()] }).endorse();
    const forged = Buffer.from(transaction.getBytes());
    // The message ends with the peer's signature, whose last bytes are an integer, so it stays well-formed.
    forged[forged.length - 8]! ^= 0xff;
    const commit = await suite.client.gateway.newTransaction(forged).submit();
    expect(await commit.getStatus()).toMatchObject({ code: ENDORSEMENT_POLICY_FAILURE });
  });

  it('cuts a block when it is full', async () => {
    const transactions = await Promise.all(
      Array.from({ length: 3 }, () => suite.records.newProposal('createMany', { arguments: [record()] }).endorse()),
    );
    const commits = await Promise.all(transactions.map((transaction) => transaction.submit()));
    const blocks = await Promise.all(commits.map(async (commit) => (await commit.getStatus()).blockNumber));
    expect(new Set(blocks).size).toBe(1);
  });
});

describe('signatures', () => {
  it('are required on every call', async () => {
    const stranger = connectClient({ ...suite.peer, identity: suite.peer.enroll('stranger', 'StrangerMSP') });
    const proposal = await suite.records.newProposal('createMany', { arguments: [record()] }).endorse();
    const bytes = proposal.getBytes();
    expect(await failureOf(stranger.gateway.newTransaction(bytes).submit())).toMatchObject({ code: 10 });
    const commit = await proposal.submit();
    expect(await failureOf(stranger.gateway.newCommit(commit.getBytes()).getStatus())).toMatchObject({ code: 7 });
    const blocks = await stranger.gateway.getNetwork('main').getFilteredBlockEvents({ startBlock: 0n });
    await expect(firstOf(blocks)).rejects.toThrow(/403|FORBIDDEN|status/i);
    const events = await stranger.gateway.getNetwork('main').getChaincodeEvents('records', { startBlock: 0n });
    expect(await failureOf(firstOf(events))).toMatchObject({ code: 7 });
    stranger.close();
  });
});

import { describe, expect, it } from '@jest/globals';
import { peer as protos } from '@hyperledger/fabric-protos';
import { until } from '../until.ts';
import { connectClient } from '@sealgate/local-services/fabric';
import { failureOf, freshId, record, standInSuite, textOf } from './testing/stand-in-suite.ts';

const { VALID, ENDORSEMENT_POLICY_FAILURE } = protos.TxValidationCode;

const suite = standInSuite({ tls: false });

describe('faults', () => {
  const read = () => suite.records.evaluateTransaction('read', 'a');

  it('apply as often and where configured', async () => {
    const fault = suite.peer.faults.inject(
      'evaluate',
      { status: { code: 8, message: 'no' } },
      { times: 2, when: ({ chaincode }) => chaincode === 'records' },
    );
    await suite.assets.evaluateTransaction('GetAllAssets');
    expect(await failureOf(read())).toMatchObject({ code: 8 });
    expect(await failureOf(read())).toMatchObject({ code: 8 });
    await read();
    expect(fault.struck()).toBe(2);
  });

  it('carry details', async () => {
    const details = [{ address: 'orderer1:7050', mspId: 'OrdererMSP', message: 'électing' }];
    suite.peer.faults.inject('submit', { status: { code: 14, message: 'no orderers', details } }, { times: 1 });
    expect(await failureOf(suite.records.submitTransaction('createMany', record()))).toMatchObject({
      code: 14,
      details,
    });
  });

  it('return an error although the call was executed', async () => {
    suite.peer.faults.inject('submit', { statusAfter: { code: 4, message: 'too late' } }, { times: 1 });
    const transaction = await suite.records.newProposal('createMany', { arguments: [record()] }).endorse();
    expect(await failureOf(transaction.submit())).toMatchObject({ code: 4 });
    await until(() =>
      suite.peer
        .channel('main')
        .transactions()
        .some(({ transactionId }) => transactionId === transaction.getTransactionId()),
    );
  });

  it.each(['before', 'after'] as const)('drop the answer: %s execution', async (drop) => {
    suite.peer.faults.inject('submit', { drop }, { times: 1 });
    suite.peer.orderer.hold();
    const transaction = await suite.records.newProposal('createMany', { arguments: [record()] }).endorse();
    expect(await failureOf(transaction.submit({ deadline: Date.now() + 300 }))).toMatchObject({ code: 4 });
    expect(suite.peer.channel('main').pending()).toBe(drop === 'after' ? 1 : 0);
  });

  it('make the next transaction invalid', async () => {
    suite.peer.faults.judge({ commit: ENDORSEMENT_POLICY_FAILURE });
    const id = freshId();
    expect(await failureOf(suite.records.submitTransaction('createMany', record(id)))).toMatchObject({
      name: 'CommitError',
      code: ENDORSEMENT_POLICY_FAILURE,
    });
    expect(textOf(await suite.records.evaluateTransaction('read', id))).toBe('');
    await suite.records.submitTransaction('createMany', record(id));
  });

  it('apply to one of several peers, which share their blocks', async () => {
    const second = await suite.peer.addPeer();
    const other = connectClient({ ...suite.peer, url: second.url });
    const elsewhere = other.gateway.getNetwork('main').getContract('records');
    const id = freshId();
    await suite.records.submitTransaction('createMany', record(id));
    suite.peer.faults.inject(
      'evaluate',
      { status: { code: 14, message: 'gone' } },
      { when: ({ peer: url }) => url === suite.peer.url },
    );
    expect(await failureOf(suite.records.evaluateTransaction('read', id))).toMatchObject({ code: 14 });
    expect(textOf(await elsewhere.evaluateTransaction('read', id))).toContain(id);
    await suite.peer.stop();
    expect(textOf(await elsewhere.evaluateTransaction('read', id))).toContain(id);
    await suite.peer.start();
    await second.stop();
    other.close();
  });

  it('drop an acknowledged envelope; the same one sent again commits', async () => {
    const transaction = await suite.records.newProposal('createMany', { arguments: [record()] }).endorse();
    suite.peer.orderer.hold();
    await transaction.submit();
    suite.peer.orderer.forget();
    expect(suite.peer.channel('main').pending()).toBe(0);
    suite.peer.orderer.release();
    const commit = await transaction.submit();
    expect(await commit.getStatus()).toMatchObject({ code: VALID });
  });
});

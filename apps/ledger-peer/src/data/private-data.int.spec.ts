import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { until } from '@sealgate/testing';
import { asset, freshId } from '../testing/fabric-mapping.ts';
import { fabricSuite } from '../testing/fabric-suite.ts';

const suite = fabricSuite();
const { target } = suite;
const PIN = 'p-7391-x';
const withPin = (id: string, pin = PIN, type = 'pin') => ({ ...asset(id, type), transient: { pin } });

/** Everything that the journal holds, as text in which bytes can be searched. */
const journal = async () =>
  JSON.stringify(
    (
      await suite.database.sql.query<{ row: string; request: Buffer | null; result: Buffer | null }>({
        text: 'SELECT t::text AS row, request, result FROM peer.fabric_transactions t',
      })
    ).map(({ row, request, result }) => [row, request?.toString('latin1'), result?.toString('latin1')]),
  );

describe('transient members', () => {
  it('reach the contract and its collection, and neither the blocks nor the journal, at any time', async () => {
    const id = freshId();
    suite.peer.orderer.hold();
    const writing = suite.ledger.write(target('pin'), [withPin(id)], `job_${id}`);
    await until(() => suite.peer.channel('main').pending() > 0);
    const unsettled = await journal();
    expect(unsettled).toContain('SetPin');
    suite.peer.orderer.release();
    expect(await writing).toMatchObject({ outcome: 'committed', transactions: [{ returned: { json: '"kept"' } }] });
    expect(JSON.parse((await suite.ledger.read(target('pin'), id))?.text ?? '')).toEqual({ ID: id, pin: PIN });
    await until(async () => (await journal()).includes('committed'));
    const blocks = Buffer.concat(suite.peer.channel('main').blocks()).toString('latin1');
    expect(blocks).toContain('SetPin');
    for (const text of [unsettled, await journal(), blocks]) expect(text).not.toContain(PIN);
  });

  it('are cut out of a refusal and of a conflict', async () => {
    const id = freshId();
    expect(await suite.ledger.write(target('pin'), [withPin(id, 'x-1')])).toEqual({
      outcome: 'refused',
      code: 'INVALID_REQUEST',
      message: `the pin "[private]" of ${id} is too short`,
      contractMessage: `the pin "[private]" of ${id} is too short`,
    });
    await suite.ledger.write(target('pin'), [withPin(id)]);
    const taken = await suite.ledger.write(target('pin'), [withPin(id)]);
    expect(taken).toMatchObject({ code: 'RECORD_CONFLICT' });
    expect(JSON.stringify(taken)).not.toContain(PIN);
  });

  it('go with an action as with a write', async () => {
    const id = freshId();
    const hidden = await suite.ledger.write(target('pin'), [{ ...withPin(id), action: 'hide' }]);
    expect(hidden).toMatchObject({ outcome: 'committed' });
    expect((await suite.ledger.read(target('pin.Org2MSP'), id))?.text).toContain(PIN);
    expect(await suite.ledger.read(target('pin'), id)).toBeUndefined();
  });
});

describe('an implicit collection', () => {
  it('is read at a peer of its organisation', async () => {
    const id = freshId();
    for (const mspId of ['Org2MSP', 'Org9MSP']) {
      const written = await suite.ledger.write(target(`pin.${mspId}`), [withPin(id, PIN, `pin.${mspId}`)]);
      expect(written).toMatchObject({ outcome: 'committed' });
    }
    expect((await suite.ledger.read(target('pin.Org2MSP'), id))?.text).toContain(PIN);
    // No peer of that organisation is there to be asked, and no other may answer.
    await expect(suite.ledger.read(target('pin.Org9MSP'), id)).rejects.toBeInstanceOf(LedgerUnavailableError);
  });
});

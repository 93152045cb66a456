import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { proveSeal, type PackPorts } from './assessor-pack.ts';

function proving(ledger: PackPorts['ledger']): Promise<string> {
  const keepProof = (id: string, proof: string) => Promise.resolve(`${id} ${proof}`);
  return proveSeal({ ledger, channel: 'gate.seals', keepProof }, 'rec_1');
}
const absent = () => Promise.resolve(undefined);
const away = () => Promise.reject(new LedgerUnavailableError('away'));

describe('the proof of a seal', () => {
  it('is null for good if the seal is not on the Fabric network that the ledger is now', async () => {
    expect(await proving({ isLog: false, prove: absent })).toBe('rec_1 null');
  });

  it('is missing by a bug if the log does not have the seal', async () => {
    await expect(proving({ isLog: true, prove: absent })).rejects.toThrow('no record of a completed seal');
  });

  it.each([
    [true, 'No checkpoint covers the seal yet.'],
    [false, 'Too few peers sign for the seal now.'],
  ])('is not available while the ledger cannot make it', async (isLog, detail) => {
    const refusal = proving({ isLog, prove: away });
    await expect(refusal).rejects.toThrow(AppError);
    await expect(refusal).rejects.toMatchObject({ code: 'LEDGER_UNAVAILABLE', message: detail });
  });
});

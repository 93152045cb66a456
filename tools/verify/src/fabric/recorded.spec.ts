import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@sealgate/json';
import { checkFabric } from './check-fabric.ts';
import { readFabricProof } from './proof-file.ts';
import { readTrustFile } from './trust-file.ts';

/** Recorded on a network of Fabric 2.5.16 of two organisations, whose certificates `cryptogen` made. */
const { proof, trust } = JSON.parse(readFileSync(new URL('fixtures/recorded.json', import.meta.url), 'utf8')) as {
  readonly proof: Recorded;
  readonly trust: JsonValue;
};

interface Attested {
  proposal: string;
  responses: { mspId: string; payload: string; endorsement: string }[];
}

interface Recorded {
  proof: { view: Attested; statement: Attested; block: string };
}

const pinned = await readTrustFile('trust.json', trust);

async function check(change: (recorded: Recorded) => void = () => undefined) {
  const changed = structuredClone(proof);
  change(changed);
  return checkFabric({ file: readFabricProof('proof.json', changed as never), trust: pinned });
}

/** One bit of a byte in base64, at a part of its length. */
function flipped(text: string, part: number): string {
  const bytes = Buffer.from(text, 'base64');
  const at = Math.min(bytes.length - 1, Math.floor(bytes.length * part));
  bytes[at] = bytes[at]! ^ 0x10;
  return bytes.toString('base64');
}

/** Bits are changed at so many equal distances, and at the end. */
const STEPS = 10;

describe('a proof that real peers signed', () => {
  it('is verified', async () => {
    const report = await check();
    expect(report.steps.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(report.conclusion).toMatch(
      /^Peers of SouthMSP and NorthMSP signed that record order-2-\S+ \(version 1\) is in the channel both, valid, by transaction [0-9a-f]{64} in block 6\.$/,
    );
  });

  it.each<[string, (recorded: Recorded, part: number) => void]>([
    ['proposals', ({ proof: { view } }, part) => void (view.proposal = flipped(view.proposal, part))],
    [
      'proposals of statements',
      ({ proof: { statement } }, part) => {
        statement.proposal = flipped(statement.proposal, part);
      },
    ],
    [
      'endorsements',
      ({ proof: { view } }, part) => {
        view.responses[1]!.endorsement = flipped(view.responses[1]!.endorsement, part);
      },
    ],
    [
      'answers',
      ({ proof: { view } }, part) => {
        for (const response of view.responses) response.payload = flipped(response.payload, part);
      },
    ],
    [
      'transactions',
      ({ proof: { statement } }, part) => {
        for (const response of statement.responses) response.payload = flipped(response.payload, part);
      },
    ],
  ])('is never verified with another bit in one of its %s', async (_what, change) => {
    for (let step = 0; step <= STEPS; step += 1) {
      const { verified } = await check((recorded) => change(recorded, step / STEPS));
      expect({ step, verified }).toEqual({ step, verified: false });
    }
  });
});

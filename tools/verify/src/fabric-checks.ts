// The checks of proofs on Fabric, apart from the others: they parse certificates, which pages load only when needed.
import type { PartnerEnvelope } from '@sealgate/envelope';
import { type Answered, reportAnswered } from './check-answer.ts';
import { itemsIn } from './check-envelope.ts';
import type { PeersReports } from './check-pack.ts';
import { checkFabric } from './fabric/check-fabric.ts';
import { type FabricProofFile, isFabricProof, readFabricProof } from './fabric/proof-file.ts';
import type { ChannelTrust } from './fabric/trust-file.ts';
import type { PackFile } from './pack-file.ts';
import { type Report, startReport } from './report.ts';
import { objectAt, type Place, stringAt, UnreadableError } from './shape.ts';

export { checkFabric } from './fabric/check-fabric.ts';
export { readTrustFile } from './fabric/trust-file.ts';

/** Checks the seals of a pack that are on Fabric; input of `checkPack`. Never throws for their content. */
export async function checkSealsByPeers({ seals }: PackFile, trust: ChannelTrust): Promise<PeersReports> {
  const reports = seals.map(async ({ where, document, peers }) => {
    if (peers === undefined) return [];
    const content = { where: document.where, value: document.object };
    return [[where, await checkFabric({ file: peers, trust, content })] as const];
  });
  return new Map((await Promise.all(reports)).flat());
}

/**
 * Checks the proofs of evidence in an envelope that are on Fabric; input of `checkEnvelope`. @throws UnreadableError if
 * a member is missing or of another type.
 */
export async function checkProofsByPeers(
  { name, envelope }: { readonly name: string; readonly envelope: PartnerEnvelope },
  trust: ChannelTrust,
): Promise<Report[]> {
  const items = itemsIn(name, envelope).filter(({ object }) => isFabricProof(object));
  return Promise.all(items.map((item) => checkItem(item, trust)));
}

/** Of the people who read an item, none sees the record: both must tell the same. */
async function checkItem(item: Place, trust: ChannelTrust): Promise<Report> {
  const file = readFabricProof(item.where, item.object);
  const receipt = objectAt(item, 'receipt');
  const report = startReport();
  for (const [member, proved] of Object.entries({ ledgerRecordId: 'id', channel: 'channel', sealedAt: 'at' }))
    report.equal('item', {
      ok: `Its ${member} is that of the receipt.`,
      failed: `Its ${member} is not that of the receipt.`,
      where: `${item.where}/${member}`,
      expected: stringAt(receipt, proved),
      found: stringAt(item, member),
    });
  const value = { evidenceId: stringAt(item, 'subjectId'), sha256: stringAt(item, 'sha256') };
  const checked = await checkFabric({ file, trust, content: { where: item.where, value, isPart: true } });
  report.include(checked);
  return report.finish(checked.conclusion);
}

interface FabricAnswerInput {
  /** Of the gateway's response to the write. */
  readonly records: readonly Answered[];
  /** The proof of one of its records, fetched later. */
  readonly file: FabricProofFile;
  readonly trust: ChannelTrust;
}

/**
 * Checks that the response to the sender matches the proof, and checks the proof itself. @throws UnreadableError if the
 * proof is without its receipt, so that it names no record of ours.
 */
export async function checkAnswerByPeers({ records, file, trust }: FabricAnswerInput): Promise<Report> {
  const { name, receipt } = file;
  if (receipt === undefined) throw new UnreadableError(`${name} has no receipt to compare with the answer.`);
  const report = startReport();
  reportAnswered(report, records, {
    where: receipt.where,
    id: stringAt(receipt, 'id'),
    channel: stringAt(receipt, 'channel'),
    transactionId: stringAt(receipt, 'transactionId'),
  });
  const checked = await checkFabric({ file, trust });
  report.include(checked);
  return report.finish(`What was acknowledged is what was written. ${checked.conclusion}`);
}

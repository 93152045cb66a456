import type { PartnerEnvelope } from '@sealgate/envelope';
import {
  parseJson,
  type FabricProofFile,
  type PeersReports,
  type readPackFile,
  type Report,
} from '@sealgate/verify/checks';
import * as texts from './file-texts.ts';
import { NoKeyError, type Pins } from './pins.ts';

type PackFile = ReturnType<typeof readPackFile>;

/** Loads what parses certificates. Throws UnreadableError for a text that is no trust file. */
export async function readTrust(name: string, text: string) {
  const checks = await import('@sealgate/verify/fabric-checks');
  return { ...checks, trust: await checks.readTrustFile(name, parseJson(new TextEncoder().encode(text), name)) };
}

/** The trust file that was dropped. Throws NoKeyError without one, as those below. */
function requiredTrust({ trust: text }: Pins) {
  if (text === '') throw new NoKeyError('trust', texts.noTrust);
  return readTrust('the trust file', text);
}

export async function recordByPeers(file: FabricProofFile, pins: Pins): Promise<Report> {
  const { checkFabric, trust } = await requiredTrust(pins);
  return checkFabric({ file, trust });
}

export async function sealsByPeers(file: PackFile, pins: Pins): Promise<PeersReports> {
  const { checkSealsByPeers, trust } = await requiredTrust(pins);
  return checkSealsByPeers(file, trust);
}

export async function proofsByPeers(
  of: { readonly name: string; readonly envelope: PartnerEnvelope },
  pins: Pins,
): Promise<Report[]> {
  const { checkProofsByPeers, trust } = await requiredTrust(pins);
  return checkProofsByPeers(of, trust);
}

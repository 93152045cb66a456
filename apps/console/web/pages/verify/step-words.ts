import * as texts from './step-texts.ts';

/** What a step of a check asks, and what it means that it failed, for people who know no hashes. */
interface StepWords {
  readonly asks: string;
  readonly fails: string;
}

/** By the exact term, which is shown behind the words and which the commands and the guides use. */
const STEPS: Readonly<Record<string, StepWords>> = {
  agreement: { asks: texts.agreementAsked, fails: texts.agreementFails },
  answer: { asks: texts.answerAsked, fails: texts.answerFails },
  body: { asks: texts.bodyAsked, fails: texts.bodyFails },
  chain: {
    asks: texts.chainAsked,
    fails: texts.chainFails,
  },
  checkpoint: { asks: texts.checkpointAsked, fails: texts.checkpointFails },
  consistency: { asks: texts.consistencyAsked, fails: texts.consistencyFails },
  content: { asks: texts.contentAsked, fails: texts.contentFails },
  declaration: {
    asks: texts.declarationAsked,
    fails: texts.declarationFails,
  },
  hash: { asks: texts.hashAsked, fails: texts.hashFails },
  head: { asks: texts.headAsked, fails: texts.headFails },
  inclusion: { asks: texts.inclusionAsked, fails: texts.inclusionFails },
  leaf: { asks: texts.leafAsked, fails: texts.leafFails },
  loss: { asks: texts.lossAsked, fails: texts.lossFails },
  origin: { asks: texts.originAsked, fails: texts.originFails },
  'pack hash': { asks: texts.packHashAsked, fails: texts.packHashFails },
  'pack signature': { asks: texts.packSignatureAsked, fails: texts.packSignatureFails },
  payload: { asks: texts.payloadAsked, fails: texts.payloadFails },
  proof: { asks: texts.proofAsked, fails: texts.proofFails },
  'seal document': { asks: texts.sealDocumentAsked, fails: texts.sealDocumentFails },
  'seal hash': { asks: texts.sealHashAsked, fails: texts.sealHashFails },
  signature: { asks: texts.signatureAsked, fails: texts.signatureFails },
  signed: { asks: texts.signedAsked, fails: texts.signedFails },
  'signed bytes': { asks: texts.signedBytesAsked, fails: texts.signedBytesFails },
  size: { asks: texts.sizeAsked, fails: texts.sizeFails },
  timeline: { asks: texts.timelineAsked, fails: texts.timelineFails },
  validation: { asks: texts.validationAsked, fails: texts.validationFails },
  witnesses: { asks: texts.witnessesAsked, fails: texts.witnessesFails },
};

/** A step of one of several checkpoints has its name before: `last signature`. */
function wordsOf(step: string): StepWords | undefined {
  const name = [step, step.slice(step.indexOf(' ') + 1)].find((one) => Object.hasOwn(STEPS, one));
  return name === undefined ? undefined : STEPS[name];
}

/** The words of a step; an exact term without words stands for itself. */
export const askedBy = (step: string): string => wordsOf(step)?.asks ?? step;

/** Why something is not verified, as a sentence; undefined if no failed step has words. */
export function failureInWords(failed: readonly string[]): string | undefined {
  const reasons = [...new Set(failed)].flatMap((step) => wordsOf(step)?.fails ?? []);
  const text = reasons.join('; ');
  return text === '' ? undefined : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

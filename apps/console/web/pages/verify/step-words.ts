/** What a step of a check asks, and what it means that it failed, for people who know no hashes. */
interface StepWords {
  readonly asks: string;
  readonly fails: string;
}

/** By the exact term, which is shown behind the words and which the commands and the guides use. */
const STEPS: Readonly<Record<string, StepWords>> = {
  agreement: { asks: 'The parts of the file say the same', fails: 'parts of the file contradict each other' },
  answer: { asks: 'The service acknowledged this', fails: 'the service acknowledged something else' },
  body: { asks: 'The delivery is the one that was kept', fails: 'the delivery is not the one that was kept' },
  chain: {
    asks: 'The decisions lead to the one that was written',
    fails: 'the decisions do not lead to what was written',
  },
  checkpoint: { asks: 'The state of the log is signed', fails: 'the state of the log is not signed by a key you have' },
  consistency: { asks: 'Nothing signed was changed later', fails: 'what was signed before was changed' },
  content: { asks: 'The content is what was written', fails: 'the content is not what was written' },
  declaration: {
    asks: 'The log says that it lost entries',
    fails: 'the declaration of a loss does not belong to this log',
  },
  hash: { asks: 'It is unchanged since it was hashed', fails: 'it was changed after it was hashed' },
  head: { asks: 'The newest decision was written', fails: 'the newest decision is not the one that was written' },
  inclusion: { asks: 'The record is in the log', fails: 'the record is not shown to be in the log' },
  leaf: { asks: 'The log has exactly this record', fails: 'the log has another record at this place' },
  loss: { asks: 'The loss is as it was declared', fails: 'the loss is not as it was declared' },
  origin: { asks: 'It is the log whose key you have', fails: 'it is another log than the one whose key you have' },
  'pack hash': { asks: 'The pack is unchanged', fails: 'the pack was changed' },
  'pack signature': { asks: 'The pack is signed by the service', fails: 'the pack is not signed by the service' },
  payload: { asks: 'The content is what the peers signed', fails: 'the content is not what the peers signed' },
  proof: { asks: 'The file is a proof', fails: 'the file is no whole proof' },
  'seal document': { asks: 'The seal is of this case', fails: 'the seal is not of this case' },
  'seal hash': { asks: 'The seal is what was written', fails: 'the seal is not what was written' },
  signature: { asks: 'It is signed with the key you have', fails: 'it is not signed with the key you have' },
  signed: { asks: 'It is signed by a key of the service', fails: 'no key of the service signed it as it is' },
  'signed bytes': { asks: 'The sender signed these bytes', fails: 'the sender signed other bytes' },
  size: { asks: 'The log was large enough by then', fails: 'the log had fewer entries by then' },
  timeline: { asks: 'The history of the case is whole', fails: 'the history of the case is not whole' },
  validation: { asks: 'The network took the transaction', fails: 'the network refused the transaction' },
  witnesses: { asks: 'Enough witnesses signed too', fails: 'too few witnesses signed too' },
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

/** A mistake that the user can correct: shown as one sentence, without a stack. */
export class UsageError extends Error {}

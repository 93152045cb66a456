/** Something the person at the keyboard can mend: one sentence, shown without a stack. */
export class UsageError extends Error {}

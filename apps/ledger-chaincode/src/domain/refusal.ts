/** The codes a transaction may be refused with. They are part of the contract: clients read them. */
export type RefusalCode = 'RECORD_CONFLICT' | 'INVALID_REQUEST';

/**
 * Refuses the whole transaction. All that a chaincode can give its caller beside a result is one message, so the message
 * is made for programs: the code, a colon, and a JSON object.
 */
export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly facts: Readonly<Record<string, string | number>>;

  constructor(code: RefusalCode, facts: Readonly<Record<string, string | number>>) {
    super(`${code}:${JSON.stringify(facts)}`);
    this.name = 'Refusal';
    this.code = code;
    this.facts = facts;
  }
}

/** The argument is not what the transaction takes. Never quotes what was sent, which may be anything of any length. */
export function invalid(detail: string): Refusal {
  return new Refusal('INVALID_REQUEST', { detail });
}

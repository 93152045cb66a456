/** Codes of a rejected transaction. They are part of the contract: clients read them. */
type RefusalCode = 'RECORD_CONFLICT' | 'INVALID_REQUEST';

/**
 * Rejects the whole transaction. A chaincode can only return one message on failure, so the message is
 * machine-readable: the code, a colon, and a JSON object.
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

/** An invalid argument. The detail never quotes the input, which may be anything of any length. */
export function invalid(detail: string): Refusal {
  return new Refusal('INVALID_REQUEST', { detail });
}

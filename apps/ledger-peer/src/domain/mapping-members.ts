export type Members = Readonly<Record<string, unknown>>;

/** Fabric's syntax of chaincode names; we also use it for contracts and transactions, for which Fabric has no rule. */
export const CHAINCODE = /^[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*$/;
export const NAME = /^[A-Za-z0-9_.:-]{1,128}$/;

export function named(value: unknown, pattern: RegExp, at: string, faults: string[]): string {
  if (typeof value === 'string' && pattern.test(value)) return value;
  faults.push(`${at}: must be a name`);
  return '';
}

const MAX_ENDORSERS = 20;
const MSP_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** MSP ids; undefined: none are named. */
export function endorsersIn(value: unknown, at: string, faults: string[]): string[] | undefined {
  if (value === undefined) return undefined;
  const isList = isTexts(value) && value.length > 0 && value.length <= MAX_ENDORSERS;
  if (isList && value.every((mspId) => MSP_ID.test(mspId)) && new Set(value).size === value.length) return value;
  faults.push(`${at}: must be a list of 1 to ${MAX_ENDORSERS} MSP ids, each once`);
  return undefined;
}

export function onlyKnown(value: Members, known: readonly string[], at: string, faults: string[]): void {
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) faults.push(`${at === '' ? '' : `${at}/`}${name}: is not a known member`);
  }
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

import { StatusCode } from '@hyperledger/fabric-gateway';

const CODE_NAMES = new Map<number, string>(Object.entries(StatusCode).map(([name, code]) => [code, name]));

/** Fabric's name of a validation code. */
export function nameOfCode(code: number): string {
  return CODE_NAMES.get(code) ?? `CODE_${code}`;
}

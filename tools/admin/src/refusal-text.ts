import type { Connection } from './find-connection.ts';
import { printableLines } from './printable.ts';
import type { Refusal } from './refusal.ts';

/** A refusal for people: what, where, and by which request it is found in the logs. */
export function refusalText(refusal: Refusal, { urlSource, tokenSource }: Connection): string {
  const { status, code, message, faults, requestId, retryAfterSeconds } = refusal;
  const lines = [
    `sealgate: refused with ${status} ${code}: ${message}`,
    ...faults.map((fault) => `  ${fault}`),
    ...(status === 401 ? [`  the token came from ${tokenSource}, the address from ${urlSource}`] : []),
    ...(retryAfterSeconds === undefined ? [] : [`  try again in ${retryAfterSeconds} s`]),
    `  request id: ${requestId}`,
  ];
  return `${printableLines(lines.join('\n'))}\n`;
}

import type { Schemas } from '@sealgate/client';

type Problem = NonNullable<Schemas['ingestGatewayAdmin']['AuditEvent']['problem']>;

/** Why an event cannot be taken as written by the service. */
export const PROBLEM_WORDS: Readonly<Record<Problem, string>> = {
  no_mac: 'Not written by the service',
  wrong_mac: 'Changed afterwards',
  unknown_secret: 'Of a removed secret',
  unreadable: 'Unreadable',
};

const SHOWN_CHARACTERS = 240;

/** The details of an event as one line: `label: Till, replaces: key_1`. */
export function detailInWords(detail: unknown): string {
  const text =
    typeof detail === 'object' && detail !== null && !Array.isArray(detail)
      ? Object.entries(detail)
          .map(([name, value]) => `${name}: ${valueInWords(value)}`)
          .join(', ')
      : valueInWords(detail);
  const characters = [...text];
  return characters.length <= SHOWN_CHARACTERS ? text : `${characters.slice(0, SHOWN_CHARACTERS).join('')}…`;
}

function valueInWords(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

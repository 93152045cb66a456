import type { Place } from '@sealgate/ledger-embedded';
import type { FoundAsset } from '../domain/asset-ledger.ts';

/**
 * Builds assets as JSON text without parsing their content: ledgers store canonical text, and parsing eight mebibytes
 * with very many values would block the event loop for seconds.
 */

/** The part of an embedded ledger row that an asset shows. */
export interface StoredText {
  readonly channel: string;
  readonly idx: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  /** Canonical JSON; null for an erased record. */
  readonly data: string | null;
  readonly extra: string | null;
  readonly erased: boolean;
  readonly transaction_id: Buffer;
  readonly at_ms: string;
}

/** `where`: its place in its log. A record that another surface wrote shows its owner and its extra. */
export function textOfStored({ id, type, data, ...row }: StoredText, where: Place): string {
  const named = `{"id":${JSON.stringify(id)},"type":${JSON.stringify(type)}`;
  if (row.erased) return `${named},"data":null,"erased":true}`;
  const place = {
    channel: row.channel,
    ...where,
    transactionId: row.transaction_id.toString('hex'),
    at: new Date(Number(row.at_ms)).toISOString(),
  };
  const content = `"data":${data ?? 'null'},"owner":${JSON.stringify(row.owner)},"extra":${row.extra ?? 'null'}`;
  return `${named},${content},${JSON.stringify(place).slice(1)}`;
}

const BEFORE_ID = Buffer.from(',"id":');

/**
 * Applies `bare` to id and type in the output of our own contract. Its members are in canonical order, so only strings
 * and numbers follow the last id: these are parsed, and the text before is kept. Quotes inside strings are escaped, so
 * no string contains the searched text.
 *
 * Undefined if the output has another form: then it must be parsed.
 */
export function withBareNames(answer: Buffer, bare: (text: string) => string): FoundAsset | undefined {
  const at = answer.lastIndexOf(BEFORE_ID);
  if (at < 0) return undefined;
  const last = objectOf(`{${answer.toString('utf8', at + 1)}`);
  if (last === undefined || typeof last['id'] !== 'string' || typeof last['type'] !== 'string') return undefined;
  const type = bare(last['type']);
  const named = JSON.stringify({ ...last, id: bare(last['id']), type });
  return { text: `${answer.toString('utf8', 0, at + 1)}${named.slice(1)}`, type };
}

/** Undefined if it does not match, for example if the id found is nested deeper. */
function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

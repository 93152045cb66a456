import type { Place } from '@sealgate/ledger-embedded';
import type { FoundAsset } from '../domain/asset-ledger.ts';

/**
 * Assets as JSON text, made without parsing what they hold: a ledger keeps and gives data as canonical text already, and to
 * parse eight mebibytes of it into values takes the event loop for seconds where they are very many.
 */

/** What an asset shows of a row of the embedded ledger. */
export interface StoredText {
  readonly channel: string;
  readonly idx: string;
  readonly id: string;
  readonly type: string;
  readonly owner: string | null;
  /** Canonical JSON; null of an erased record. */
  readonly data: string | null;
  readonly extra: string | null;
  readonly erased: boolean;
  readonly transaction_id: Buffer;
  readonly at_ms: string;
}

/** `where`: its place in its log. A record that another surface wrote shows its owner and what stood beside its data. */
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
 * What our own contract answered, with `bare` applied to its id and its type. Its members are in canonical order, so behind
 * the id, which is the last one of that name, come only texts and numbers: those are parsed, and what stands before them is
 * taken as it is. Quotes within a text are escaped, so no text can hold what is looked for.
 *
 * Undefined where the answer is made otherwise: then it is to be parsed.
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

/** Undefined where it is none, as when the id that was found is one of something deeper. */
function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

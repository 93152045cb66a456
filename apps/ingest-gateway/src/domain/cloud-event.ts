import { isText } from './read-submission.ts';
import type { RawDelivery } from './schemes/scheme.ts';

/** Attributes of a CloudEvent in binary mode, whose body is the data alone, by the names of their headers. */
export type CloudEvent = { readonly [Name in (typeof ATTRIBUTES)[number][0]]?: string };

/** With the length that a record or a delivery may have of it. */
const ATTRIBUTES = [
  ['ce-id', 256],
  ['ce-type', 128],
  ['ce-source', 1024],
] as const;

/** The attributes of a delivery. One that could not be kept counts as missing: no delivery is lost for it. */
export function cloudEventIn({ header }: RawDelivery): CloudEvent {
  const found: Partial<Record<keyof CloudEvent, string>> = {};
  for (const [name, maxCodePoints] of ATTRIBUTES) {
    const text = decoded(header(name) ?? '');
    if (isText(text, maxCodePoints)) found[name] = text;
  }
  return found;
}

/** What identifies an event: its id is unique in its source only. Undefined without an id. */
export function claimKeyOf({ 'ce-id': id, 'ce-source': source }: CloudEvent): string | undefined {
  return id === undefined || source === undefined ? id : `${source}\n${id}`;
}

/** The HTTP binding percent-encodes what is not printable ASCII. */
function decoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // Not encoded, so the percent sign is a part of it.
    return text;
  }
}

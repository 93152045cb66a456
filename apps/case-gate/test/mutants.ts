/** One way in which a document is not what it was. */
export interface Mutant {
  /** RFC 6901 pointer of the value, or of the member whose name it is. */
  readonly pointer: string;
  readonly kind: string;
  /** JSON, or nearly: some say a member twice. */
  readonly text: string;
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** What stands in the place of a member or an element: its whole text, without a comma; '' for nothing. */
type Put = (text: string) => string;

/**
 * The document with each member and each element in turn removed, null, retyped, said twice and re-encoded: the same in
 * other words, which a careless reader would take for it.
 */
export function mutantsOf(document: Json): Mutant[] {
  return variants(document, '', (text) => text);
}

function variants(value: Json, pointer: string, put: Put): Mutant[] {
  if (typeof value !== 'object' || value === null) return [];
  const isList = Array.isArray(value);
  const members: [string, Json][] = isList ? value.map((item, at) => [String(at), item]) : Object.entries(value);
  const texts = members.map(([name, member]) => (isList ? JSON.stringify(member) : memberText(name, member)));
  const around = (at: number, text: string): string => {
    const parts = texts.with(at, text).filter((part) => part !== '');
    return put(isList ? `[${parts.join(',')}]` : `{${parts.join(',')}}`);
  };
  return members.flatMap(([name, member], at) => {
    const place = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const instead: Put = (text) => around(at, isList ? text : `${JSON.stringify(name)}:${text}`);
    const mutant = (kind: string, text: string): Mutant => ({ pointer: place, kind, text });
    return [
      mutant('removed', around(at, '')),
      ...otherValues(member).map(([kind, text]) => mutant(kind, instead(text))),
      ...(isList ? [] : otherMembers(name, member).map(([kind, text]) => mutant(kind, around(at, text)))),
      ...variants(member, place, instead),
    ];
  });
}

const memberText = (name: string, value: Json): string => `${JSON.stringify(name)}:${JSON.stringify(value)}`;

/** Other values, as kind and JSON text. */
function otherValues(value: Json): [kind: string, text: string][] {
  const retyped: Json[] = [0, 1, true, false, '', 'x', [], {}, [value], { value }, JSON.stringify(value)];
  // A text that says a number in plain decimals is that number, where rules compare.
  const wrong = typeof value === 'number' ? retyped.slice(0, -1) : retyped;
  const reencoded = typeof value === 'string' ? reencodings(value) : [];
  return [
    ...(value === null ? [] : [['null', 'null'] as [string, string]]),
    ...wrong
      .filter((other) => typeof other !== typeof value || typeof other === 'object')
      .filter((other) => JSON.stringify(other) !== JSON.stringify(value))
      .map((other): [string, string] => [`retyped ${JSON.stringify(other).slice(0, 12)}`, JSON.stringify(other)]),
    ...reencoded.map(([kind, text]): [string, string] => [`re-encoded ${kind}`, JSON.stringify(text)]),
  ];
}

function reencodings(text: string): [kind: string, text: string][] {
  const bytes = Buffer.from(text);
  const all: [string, string][] = [
    ['base64', bytes.toString('base64')],
    ['hex', bytes.toString('hex')],
    ['percent', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')],
    ['JSON', JSON.stringify(text)],
    ['upper case', text.toUpperCase()],
    ['lower case', text.toLowerCase()],
    ['space', `${text} `],
    ['line feed', `${text}\n`],
    ['U+0000', `${text}\u0000`],
    ['byte order mark', `\ufeff${text}`],
    ['full width', text.replace(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0))],
  ];
  return all.filter(([, other]) => other !== text);
}

/** Other members in the place of one, as kind and JSON text. */
function otherMembers(name: string, value: Json): [kind: string, text: string][] {
  const own = memberText(name, value);
  return [
    ['twice', `${own},${own}`],
    ['twice, then null', `${own},${memberText(name, null)}`],
    ['twice, null first', `${memberText(name, null)},${own}`],
    // The same name to whoever undoes escapes, and only to those.
    ['twice, once escaped', `${own},"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}":null`],
    ...reencodings(name).map(([kind, other]): [string, string] => [`name ${kind}`, memberText(other, value)]),
  ];
}

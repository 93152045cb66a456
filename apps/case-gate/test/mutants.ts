/** A document with one change. */
export interface Mutant {
  /** RFC 6901 pointer of the value, or of the member whose name it is. */
  readonly pointer: string;
  readonly kind: string;
  /** JSON, or nearly: some contain a duplicate member. */
  readonly text: string;
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** The replacement of a member or an element: its whole text, without a comma; '' removes it. */
type Put = (text: string) => string;

/**
 * The document with each member and element in turn removed, null, retyped, duplicated and re-encoded, that is, with
 * the same content in another form that a careless parser might accept.
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
  // A text that is a plain decimal equals that number where rules compare.
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

/** Replacements of a member, as kind and JSON text. */
function otherMembers(name: string, value: Json): [kind: string, text: string][] {
  const own = memberText(name, value);
  return [
    ['twice', `${own},${own}`],
    ['twice, then null', `${own},${memberText(name, null)}`],
    ['twice, null first', `${memberText(name, null)},${own}`],
    // The same name once escapes are decoded.
    ['twice, once escaped', `${own},"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}":null`],
    ...reencodings(name).map(([kind, other]): [string, string] => [`name ${kind}`, memberText(other, value)]),
  ];
}

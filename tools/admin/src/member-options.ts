import type { Field, Fields, Operation } from './operations.ts';
import { type OptionRow, type OptionRows, plain, rowOf, targetOf, wordsOf } from './option-rows.ts';

/** Flags whose names are not those of what they set. */
const FLAGS: Readonly<Record<string, string>> = {
  environment: '--environment <name>',
  replaces: '--replaces <keyId>',
  networkId: '--network <networkId>',
  subject_ref: '--subject <subjectRef>',
  venue_id: '--venue <venueId>',
  resourceId: '--id <id>',
  resource_id: '--id <id>',
  requestId: '--request <requestId>',
  request_id: '--request <requestId>',
  allowedAssetTypes: '--asset-type <type>',
  olderThanDays: '--older-than <days>',
  q: '--search <words>',
  sort: '--sort <field>',
  'limits.ratePerSecond': '--rate <n>',
  'limits.burst': '--burst <n>',
  'signature.header': '--signature-header <name>',
  'token.header': '--token-header <name>',
  'token.prefix': '--token-prefix <text>',
  'token.encoding': '--token-encoding <name>',
};

/** The same for flags that set null. */
const NULL_FLAGS: Readonly<Record<string, string>> = { limits: '--default-limits' };

const PLACEHOLDERS: Readonly<Record<Field['type'], string>> = {
  string: 'text',
  time: 'time',
  integer: 'n',
  boolean: 'true|false',
  list: 'name',
  json: 'file',
};

/** Lists have their own options. */
const PAGE = ['limit', 'cursor'];

/**
 * The options of a command: those of its row, and one for each other parameter and member but `besides`; of a flat object,
 * one for each of its members. In a change a member that may be null has another one that sets null.
 */
export function memberOptions(operation: Operation, own: OptionRows, besides: readonly string[]): OptionRows {
  const { method, query, body = {} } = operation;
  const rows = Object.entries(own).map(([flags, row]) => {
    const path = targetOf(operation, flags, rowOf(row))?.path.join('.');
    return { entry: [flags, row] as const, path, to: rowOf(row).to };
  });
  // A member has the same name as a parameter only if it replaces it.
  const fields = Object.entries({ ...body, ...query, ...body }).filter(
    ([name]) => ![...besides, ...PAGE].includes(name),
  );
  const options = fields.flatMap(([name, field]) => {
    const setting = Object.entries(leavesOf(name, field)).flatMap(([path, leaf]) => {
      const mine = rows.filter((row) => row.path === path);
      const isSet = mine.some(({ to }) => to === undefined || (to !== null && leaf.type !== 'list'));
      return [...(isSet ? [] : [settingOf(path, leaf)]), ...mine.map(({ entry }) => entry)];
    });
    const isReset = rows.some(({ path, to }) => path === name && to === null);
    return [...setting, ...(method === 'PATCH' && field.nullable === true && !isReset ? [resetOf(name)] : [])];
  });
  return { ...Object.fromEntries(options), ...own };
}

/** By path: the members of an object whose members are flat, else the field itself. */
function leavesOf(name: string, field: Field): Fields {
  const members = Object.entries(field.members ?? {});
  if (members.length === 0 || members.some(([, { type }]) => type === 'json')) return { [name]: field };
  return Object.fromEntries(members.map(([member, inner]) => [`${name}.${member}`, inner]));
}

function settingOf(path: string, field: Field): readonly [string, OptionRow] {
  const [object = '', member] = path.split('.');
  const name = plain(member ?? object, '-');
  const placeholder = field.choices === undefined ? PLACEHOLDERS[field.type] : 'name';
  const flags = FLAGS[path] ?? `--${field.type === 'list' ? name.replace(/s$/, '') : name} <${placeholder}>`;
  return [flags, { sets: path, words: `${member === undefined ? '' : `${object}: `}${wordsOf(field)}` }];
}

const resetOf = (name: string): readonly [string, OptionRow] => [
  NULL_FLAGS[name] ?? `--no-${plain(name, '-')}`,
  { sets: name, to: null, words: `clear ${name}, or reset it to its default` },
];

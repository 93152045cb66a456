import { isMistaken, placeholdersIn } from './argument-template.ts';
import { endorsersIn, isMembers, isTexts, NAME, named, onlyKnown, type Members } from './mapping-members.ts';
import type { Action, ContractShape, History, Transactions } from './mapping.ts';

const MAX_ARGUMENTS = 64;
const OUR_TRANSACTIONS = {
  create: { write: 'createMany', read: 'read', query: 'queryByType' },
  upsert: { write: 'upsertMany', read: 'read', query: 'queryByType' },
} as const;
/** What each transaction can fill in. */
const PLACES = {
  write: /^(?:id|type|data|assets|data\..+)$/s,
  action: /^(?:id|type|data|data\..+)$/s,
  read: /^(?:id|collection)$/,
  history: /^id$/,
  query: /^(?:type|limit|bookmark|collection|filter\..+)$/s,
} as const;
const MAX_FILTERS = 20;
const FILTER = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Members that describe a contract that is not ours. */
const THEIRS = ['idMember', 'words', 'filters', 'actions', 'history', 'transient', 'collections'] as const;
const MAX_TRANSIENT = 20;
const COLLECTION = /^[A-Za-z0-9_.-]{1,128}$/;
const MAX_ACTIONS = 50;
const ACTION = /^[a-z][a-z0-9-]{0,39}$/;

interface Reading {
  /** The path of the mapping. */
  readonly at: string;
  readonly faults: string[];
}

/** How a mapping encodes arguments and decodes results. */
export function shapeOf(entry: Members, { at, faults }: Reading): ContractShape {
  const given = entry['arguments'];
  if (given === undefined) {
    for (const member of THEIRS) {
      if (entry[member] !== undefined) faults.push(`${at}/${member}: only goes with arguments`);
    }
    return { kind: 'records' };
  }
  if (!isMembers(given)) {
    faults.push(`${at}/arguments: must be an object with write, read and query`);
    return { kind: 'records' };
  }
  onlyKnown(given, ['write', 'read', 'query'], `${at}/arguments`, faults);
  const words = isMembers(entry['words']) ? entry['words'] : {};
  if (entry['words'] !== undefined && !isMembers(entry['words'])) faults.push(`${at}/words: must be an object`);
  onlyKnown(words, ['absent', 'exists'], `${at}/words`, faults);
  const list = (name: 'write' | 'read' | 'query') => templateOf(given[name], name, `${at}/arguments/${name}`, faults);
  const said = (name: 'absent' | 'exists', standard: string) =>
    words[name] === undefined ? [standard] : wordsOf(words[name], `${at}/words/${name}`, faults);
  const idMember = entry['idMember'] ?? 'id';
  if (typeof idMember !== 'string' || idMember === '') faults.push(`${at}/idMember: must be the name of a member`);
  const query = given['query'] === undefined ? undefined : list('query');
  const [write, read] = [list('write'), list('read')];
  const history = historyIn(entry['history'], `${at}/history`, faults);
  const transient = transientIn(entry['transient'], write, `${at}/transient`, faults) ?? [];
  return {
    kind: 'positional',
    ...{ write, read, query, transient },
    collections: collectionsOf(entry['collections'], { read, query }, `${at}/collections`, faults),
    filters: filtersOf(entry['filters'], query ?? [], `${at}/filters`, faults),
    actions: actionsOf(entry['actions'], transient, `${at}/actions`, faults),
    ...(history === undefined ? {} : { history }),
    idMember: String(idMember),
    absentWords: said('absent', 'does not exist'),
    existsWords: said('exists', 'already exists'),
  };
}

function actionsOf(value: unknown, transient: readonly string[], at: string, faults: string[]): Record<string, Action> {
  if (value === undefined) return {};
  const entries = isMembers(value) ? Object.entries(value) : [];
  if (entries.length === 0 || entries.length > MAX_ACTIONS) {
    faults.push(`${at}: must be an object with 1 to ${MAX_ACTIONS} actions`);
    return {};
  }
  const parsed = entries.map(([name, given]) => {
    const action = actionIn(given, name, `${at}/${name}`, faults);
    if (action.transient === undefined) checkShown(transient, action.arguments, `${at}/${name}`, faults);
    return [name, action] as const;
  });
  return Object.fromEntries(parsed);
}

function actionIn(value: unknown, name: string, at: string, faults: string[]): Action {
  if (!ACTION.test(name)) faults.push(`${at}: an action is named by at most 40 of a-z, 0-9 and -, a letter first`);
  const given = isMembers(value) ? value : {};
  onlyKnown(given, ['transaction', 'arguments', 'transient', 'endorsers', 'returns'], at, faults);
  const returns = given['returns'] ?? 'json';
  if (returns !== 'json' && returns !== 'text') faults.push(`${at}/returns: must be json or text`);
  const args = templateOf(given['arguments'], 'action', `${at}/arguments`, faults);
  const transient = transientIn(given['transient'], args, `${at}/transient`, faults);
  const endorsers = endorsersIn(given['endorsers'], `${at}/endorsers`, faults);
  return {
    transaction: named(given['transaction'], NAME, `${at}/transaction`, faults),
    arguments: args,
    ...(transient === undefined ? {} : { transient }),
    ...(endorsers === undefined ? {} : { endorsers }),
    returns: returns === 'text' ? 'text' : 'json',
  };
}

/** Undefined: none is mapped. */
function historyIn(value: unknown, at: string, faults: string[]): History | undefined {
  if (value === undefined) return undefined;
  if (!isMembers(value)) {
    faults.push(`${at}: must be an object with transaction and arguments`);
    return undefined;
  }
  onlyKnown(value, ['transaction', 'arguments'], at, faults);
  return {
    transaction: named(value['transaction'], NAME, `${at}/transaction`, faults),
    arguments: templateOf(value['arguments'], 'history', `${at}/arguments`, faults),
  };
}

/** Undefined: none are named. */
function transientIn(value: unknown, args: readonly string[], at: string, faults: string[]): string[] | undefined {
  if (value === undefined) return undefined;
  if (!isTexts(value) || value.length > MAX_TRANSIENT || value.includes('')) {
    faults.push(`${at}: must be a list of at most ${MAX_TRANSIENT} members of data`);
    return undefined;
  }
  checkShown(value, args, at, faults);
  return value;
}

/** Transient members are in no argument, and of one asset. */
function checkShown(transient: readonly string[], args: readonly string[], at: string, faults: string[]): void {
  const places = args.flatMap(placeholdersIn).map(({ name }) => name);
  for (const name of transient)
    if (places.includes(`data.${name}`)) faults.push(`${at}: ${name} is transient, and cannot be an argument`);
  if (transient.length > 0 && places.includes('assets'))
    faults.push(`${at}: {assets} is many assets, so none of them can have transient members`);
}

/** The collections of `{collection}`, or whose organisation is to be asked. */
function collectionsOf(
  value: unknown,
  args: { readonly read: readonly string[]; readonly query: readonly string[] | undefined },
  at: string,
  faults: string[],
): { read?: string; query?: string } {
  const given = isMembers(value) ? value : {};
  if (value !== undefined && !isMembers(value)) faults.push(`${at}: must be an object with read and query`);
  onlyKnown(given, ['read', 'query'], at, faults);
  const collections: { read?: string; query?: string } = {};
  for (const call of ['read', 'query'] as const) {
    const isUsed = (args[call] ?? []).flatMap(placeholdersIn).some(({ name }) => name === 'collection');
    const isGiven = given[call] !== undefined;
    const name = isGiven ? named(given[call], COLLECTION, `${at}/${call}`, faults) : '';
    const isImplicit = name.startsWith('_implicit_org_') && args[call] !== undefined;
    if (isUsed && !isGiven) faults.push(`${at}/${call}: must name the collection that the arguments use`);
    if (isGiven && !isUsed && !isImplicit)
      faults.push(`${at}/${call}: is in no argument, and is no implicit collection`);
    if (isGiven) collections[call] = name;
  }
  return collections;
}

/** A list of texts, each a placeholder that this transaction can fill, or a constant. */
function templateOf(value: unknown, name: keyof typeof PLACES, at: string, faults: string[]): string[] {
  if (!isTexts(value) || value.length > MAX_ARGUMENTS) {
    faults.push(`${at}: must be a list of at most ${MAX_ARGUMENTS} texts`);
    return [];
  }
  const places = value.map((text) => placeholdersIn(text).map((place) => place.name));
  value.forEach((text, index) => {
    const isWrong = isMistaken(text) || places[index]!.some((place) => !PLACES[name].test(place));
    if (isWrong) faults.push(`${at}/${index}: ${text} cannot be filled in here`);
  });
  const all = places.flat();
  if (all.includes('assets') && all.some((place) => /^(?:id|type|data)/.test(place)))
    faults.push(`${at}: {assets} is many assets, so no member of one can stand beside it`);
  if ((name === 'read' || name === 'history') && !all.includes('id')) faults.push(`${at}: must hold {id}`);
  return value;
}

/** The names that a query takes, each filled in somewhere. */
function filtersOf(value: unknown, query: readonly string[], at: string, faults: string[]): string[] {
  const used = query.flatMap(placeholdersIn).flatMap(({ name }) => /^filter\.(.+)$/s.exec(name)?.[1] ?? []);
  const given = value ?? [];
  if (!isTexts(given) || given.length > MAX_FILTERS || !given.every((name) => FILTER.test(name))) {
    faults.push(`${at}: must be a list of at most ${MAX_FILTERS} names`);
    return [];
  }
  for (const name of new Set([...used, ...given])) {
    if (!given.includes(name)) faults.push(`${at}: must name ${name}, which the arguments of query use`);
    if (!used.includes(name)) faults.push(`${at}: ${name} is in no argument of query`);
  }
  return given;
}

function wordsOf(value: unknown, at: string, faults: string[]): string[] {
  if (isTexts(value) && value.length > 0 && value.every((text) => text !== '')) return value;
  faults.push(`${at}: must be a list of the contract's own words`);
  return [];
}

/** The names of the transactions; without `query` the mapping has none. */
export function transactionsOf(
  entry: Members,
  { at, faults, ours, shape }: Reading & { readonly ours: 'create' | 'upsert'; readonly shape: ContractShape },
): Transactions {
  const given = entry['transactions'];
  if (given === undefined) {
    if (shape.kind === 'positional') faults.push(`${at}/transactions: must name write, read and query`);
    return OUR_TRANSACTIONS[ours];
  }
  if (!isMembers(given)) {
    faults.push(`${at}/transactions: must be an object with write, read and query`);
    return OUR_TRANSACTIONS[ours];
  }
  onlyKnown(given, ['write', 'read', 'query'], `${at}/transactions`, faults);
  const name = (which: 'write' | 'read' | 'query') => named(given[which], NAME, `${at}/transactions/${which}`, faults);
  const hasQuery = given['query'] !== undefined;
  if (shape.kind === 'positional' && hasQuery !== (shape.query !== undefined))
    faults.push(`${at}: query must be in transactions and in arguments, or in neither`);
  return { write: name('write'), read: name('read'), query: hasQuery ? name('query') : undefined };
}

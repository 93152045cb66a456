import { parseChannel } from '@sealgate/ledger-port';
import { Mappings, type ContractShape, type Mapping, type Target } from './mapping.ts';

export interface MappingRules {
  readonly driver: 'embedded' | 'fabric';
  /** Channel of mappings that name none; undefined: each must name one. */
  readonly defaultChannel: string | undefined;
}

/** The mapping file is invalid. The message has a line for each fault. */
export class MappingError extends Error {
  override readonly name = 'MappingError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

type Members = Readonly<Record<string, unknown>>;

const MAX_MAPPINGS = 1000;
const MAX_ARGUMENTS = 64;
const MAX_TYPE_CODE_POINTS = 128;
/** Fabric's syntax of chaincode names; we also use it for contracts and transactions, for which Fabric has no rule. */
const CHAINCODE = /^[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*$/;
const NAME = /^[A-Za-z0-9_.:-]{1,128}$/;
// eslint-disable-next-line no-control-regex -- the control characters are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;
const OUR_TRANSACTIONS = {
  create: { write: 'createMany', read: 'read', query: 'queryByType' },
  upsert: { write: 'upsertMany', read: 'read', query: 'queryByType' },
} as const;
const PLACEHOLDERS = {
  write: /^\{(?:id|type|data|assets|data\.[^{}]+)\}$/,
  read: /^\{id\}$/,
  query: /^\{(?:type|limit|bookmark)\}$/,
} as const;

/**
 * Parses a mapping file: `{"mappings": [{type, channel?, chaincode, contract?, write?, transactions?, arguments?,
 * ...}]}`.
 * @throws MappingError listing all faults with their JSON paths.
 */
export function parseMappings(text: string, rules: MappingRules): Mappings {
  const faults: string[] = [];
  const mappings = entriesOf(text, faults).flatMap((entry, at) =>
    parseMapping(entry, `mappings/${at}`, { rules, faults }),
  );
  const shared = shareTargets(mappings);
  faults.push(...repeatedTypes(shared), ...(rules.driver === 'embedded' ? embeddedFaults(shared) : []));
  if (faults.length > 0) throw new MappingError(faults);
  return new Mappings(shared);
}

interface Reading {
  readonly rules: MappingRules;
  readonly faults: string[];
}

function entriesOf(text: string, faults: string[]): readonly unknown[] {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    faults.push('it is not JSON');
    return [];
  }
  if (!isMembers(file) || !Array.isArray(file['mappings'])) {
    faults.push('it is no object with a list called mappings');
    return [];
  }
  onlyKnown(file, ['mappings'], '', faults);
  const entries: unknown[] = file['mappings'];
  if (entries.length === 0 || entries.length > MAX_MAPPINGS) {
    faults.push(`mappings: must hold 1 to ${MAX_MAPPINGS} mappings`);
    return [];
  }
  return entries;
}

const KNOWN = ['type', 'channel', 'chaincode', 'contract', 'write', 'transactions', 'arguments', 'idMember', 'words'];

function parseMapping(entry: unknown, at: string, { rules, faults }: Reading): Mapping[] {
  if (!isMembers(entry)) {
    faults.push(`${at}: must be an object`);
    return [];
  }
  const before = faults.length;
  onlyKnown(entry, KNOWN, at, faults);
  const type = typeOf(entry['type'], at, faults);
  const place = channelOf(entry['channel'] ?? rules.defaultChannel, at, faults);
  const chaincode = named(entry['chaincode'], CHAINCODE, `${at}/chaincode`, faults);
  const contract =
    entry['contract'] === undefined ? undefined : named(entry['contract'], NAME, `${at}/contract`, faults);
  const write = entry['write'] ?? 'create';
  if (write !== 'create' && write !== 'upsert') faults.push(`${at}/write: must be create or upsert`);
  else if (write === 'upsert' && rules.driver === 'embedded')
    faults.push(`${at}/write: upsert needs LEDGER_DRIVER=fabric; a record of the embedded ledger never changes`);
  const shape = shapeOf(entry, at, faults);
  const transactions = transactionsOf(entry, { at, faults, ours: write === 'upsert' ? 'upsert' : 'create', shape });
  if (faults.length > before || place === undefined) return [];
  const isUpsert = write === 'upsert';
  const target: Target = {
    ...place,
    chaincode,
    contract,
    transactions,
    shape,
    write: isUpsert ? 'upsert' : 'create',
  };
  return [{ type, target }];
}

function typeOf(value: unknown, at: string, faults: string[]): string {
  const isText =
    typeof value === 'string' &&
    value !== '' &&
    value.isWellFormed() &&
    !CONTROL.test(value) &&
    [...value].length <= MAX_TYPE_CODE_POINTS;
  if (isText && !value.slice(0, -1).includes('*')) return value;
  faults.push(`${at}/type: must be a type, prefix* or *, of 1 to ${MAX_TYPE_CODE_POINTS} characters`);
  return '';
}

function channelOf(value: unknown, at: string, faults: string[]): { channel: string; network: string } | undefined {
  const parsed = typeof value === 'string' ? parseChannel(value) : undefined;
  if (parsed !== undefined) return { channel: String(value), network: parsed.networkId };
  faults.push(`${at}/channel: must be <networkId>.<name>; only LEDGER_CHANNEL may stand in for it`);
  return undefined;
}

function shapeOf(entry: Members, at: string, faults: string[]): ContractShape {
  const given = entry['arguments'];
  if (given === undefined) {
    for (const member of ['idMember', 'words'] as const) {
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
  return {
    kind: 'positional',
    write: list('write'),
    read: list('read'),
    query: list('query'),
    idMember: String(idMember),
    absentWords: said('absent', 'does not exist'),
    existsWords: said('exists', 'already exists'),
  };
}

/** A list of texts, each a placeholder that this transaction can fill, or a constant. */
function templateOf(value: unknown, name: keyof typeof PLACEHOLDERS, at: string, faults: string[]): string[] {
  if (!isTexts(value) || value.length > MAX_ARGUMENTS) {
    faults.push(`${at}: must be a list of at most ${MAX_ARGUMENTS} texts`);
    return [];
  }
  value.forEach((text, index) => {
    const isPlain = !/^\{.*\}$/s.test(text);
    if (!isPlain && !PLACEHOLDERS[name].test(text)) faults.push(`${at}/${index}: ${text} cannot be filled in here`);
  });
  const names = value.includes('{assets}') && value.some((text) => /^\{(?:id|type|data)/.test(text));
  if (names) faults.push(`${at}: {assets} is many assets, so no member of one can stand beside it`);
  if (name === 'read' && !value.includes('{id}')) faults.push(`${at}: must hold {id}`);
  return value;
}

function wordsOf(value: unknown, at: string, faults: string[]): string[] {
  if (isTexts(value) && value.length > 0 && value.every((text) => text !== '')) return value;
  faults.push(`${at}: must be a list of the contract's own words`);
  return [];
}

function transactionsOf(
  entry: Members,
  options: { at: string; faults: string[]; ours: 'create' | 'upsert'; shape: ContractShape },
) {
  const { at, faults, ours, shape } = options;
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
  return { write: name('write'), read: name('read'), query: name('query') };
}

function named(value: unknown, pattern: RegExp, at: string, faults: string[]): string {
  if (typeof value === 'string' && pattern.test(value)) return value;
  faults.push(`${at}: must be a name`);
  return '';
}

/** Mappings that agree in everything but the type share one target, so that their assets share transactions. */
function shareTargets(mappings: readonly Mapping[]): Mapping[] {
  const known = new Map<string, Target>();
  return mappings.map(({ type, target }) => {
    const name = JSON.stringify(target);
    const shared = known.get(name) ?? target;
    known.set(name, shared);
    return { type, target: shared };
  });
}

function repeatedTypes(mappings: readonly Mapping[]): string[] {
  const types = mappings.map(({ type }) => type);
  const repeated = new Set(types.filter((type, at) => types.indexOf(type) !== at));
  return [...repeated].map((type) => `mappings: ${JSON.stringify(type)} is mapped twice`);
}

/**
 * Ids are unique within a chaincode, and in the embedded ledger within a channel: there, a channel has one chaincode.
 */
function embeddedFaults(mappings: readonly Mapping[]): string[] {
  const chaincodes = Map.groupBy(mappings, ({ target }) => target.channel);
  const crowded = [...chaincodes].filter(([, on]) => new Set(on.map(({ target }) => target.chaincode)).size > 1);
  const foreign = mappings.filter(({ target }) => target.shape.kind === 'positional');
  return [
    ...crowded.map(
      ([channel]) => `mappings: ${channel} has several chaincodes; the embedded ledger takes one a channel`,
    ),
    ...foreign.map(
      ({ type }) =>
        `mappings: the arguments of ${JSON.stringify(type)} are for a contract, and need LEDGER_DRIVER=fabric`,
    ),
  ];
}

function onlyKnown(value: Members, known: readonly string[], at: string, faults: string[]): void {
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) faults.push(`${at === '' ? '' : `${at}/`}${name}: is not a known member`);
  }
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

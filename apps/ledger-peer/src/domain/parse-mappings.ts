import { parseChannel } from '@sealgate/ledger-port';
import { CHAINCODE, endorsersIn, isMembers, NAME, named, onlyKnown } from './mapping-members.ts';
import { Mappings, type Mapping, type Target } from './mapping.ts';
import { shapeOf, transactionsOf } from './parse-contract.ts';

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

const MAX_MAPPINGS = 1000;
const MAX_TYPE_CODE_POINTS = 128;
// eslint-disable-next-line no-control-regex -- the control characters are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;

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

const KNOWN = [
  ...['type', 'channel', 'chaincode', 'contract', 'write'],
  ...['transactions', 'arguments', 'idMember', 'words', 'filters', 'actions', 'history', 'endorsers'],
  ...['transient', 'collections'],
];

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
  const shape = shapeOf(entry, { at, faults });
  const transactions = transactionsOf(entry, { at, faults, ours: write === 'upsert' ? 'upsert' : 'create', shape });
  const endorsers = endorsersOf(entry['endorsers'], `${at}/endorsers`, { rules, faults });
  if (faults.length > before || place === undefined) return [];
  const isUpsert = write === 'upsert';
  const target: Target = {
    ...place,
    chaincode,
    contract,
    transactions,
    shape,
    write: isUpsert ? 'upsert' : 'create',
    ...(endorsers === undefined ? {} : { endorsers }),
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

function endorsersOf(value: unknown, at: string, { rules, faults }: Reading): string[] | undefined {
  if (value !== undefined && rules.driver === 'embedded') faults.push(`${at}: needs LEDGER_DRIVER=fabric`);
  return endorsersIn(value, at, faults);
}

function channelOf(value: unknown, at: string, faults: string[]): { channel: string; network: string } | undefined {
  const parsed = typeof value === 'string' ? parseChannel(value) : undefined;
  if (parsed !== undefined) return { channel: String(value), network: parsed.networkId };
  faults.push(`${at}/channel: must be <networkId>.<name>; only LEDGER_CHANNEL may stand in for it`);
  return undefined;
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

/** The contract's names of the three transactions. */
export interface Transactions {
  readonly write: string;
  readonly read: string;
  /** Undefined: its assets are not listed. */
  readonly query: string | undefined;
}

/** A further transaction of a third-party contract, which a mapping names. */
export interface Action {
  readonly transaction: string;
  readonly arguments: readonly string[];
  /** Members of `data` that are sent as transient data; absent: those of the mapping. */
  readonly transient?: readonly string[];
  /** MSP ids of the organisations that endorse it; absent: those of the mapping. */
  readonly endorsers?: readonly string[];
  /** `json`: what it returns is passed on as JSON where it is JSON. `text`: always as a string. */
  readonly returns: 'json' | 'text';
}

/** A transaction of a third-party contract that returns the changes of an asset. */
export interface History {
  readonly transaction: string;
  readonly arguments: readonly string[];
}

/**
 * How arguments are encoded and results decoded.
 * - `records`: our own contract (see `apps/ledger-chaincode`), and the embedded ledger; many assets are one
 *   transaction.
 * - `positional`: any other contract; each argument is a constant, or a text that is filled in (`argument-template.ts`).
 *   Without `{assets}` each asset is a transaction of its own.
 */
export type ContractShape =
  | { readonly kind: 'records' }
  | {
      readonly kind: 'positional';
      readonly write: readonly string[];
      readonly read: readonly string[];
      /** Undefined exactly if no transaction is named for it. */
      readonly query: readonly string[] | undefined;
      /** The names of filters that the arguments of `query` use. */
      readonly filters: readonly string[];
      readonly actions: Readonly<Record<string, Action>>;
      /** Absent: the history of its assets cannot be read. */
      readonly history?: History;
      /** Members of `data` that are sent as transient data, and in no argument. */
      readonly transient: readonly string[];
      /** Private collections, for `{collection}`. Of an implicit one, its organisation is asked. */
      readonly collections: { readonly read?: string; readonly query?: string };
      /** The member with the id in an asset returned by the contract. */
      readonly idMember: string;
      /** The contract's own messages: an error that contains one of them means that there is no such asset. */
      readonly absentWords: readonly string[];
      /** Likewise: the id is taken. */
      readonly existsWords: readonly string[];
    };

/** Destination of assets: one contract on one channel. Mappings that agree in all of it share one target. */
export interface Target {
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly network: string;
  readonly chaincode: string;
  /** Undefined: the chaincode's default contract. */
  readonly contract: string | undefined;
  readonly transactions: Transactions;
  readonly shape: ContractShape;
  /** `create`: an id is written once. `upsert`: other content is a new version. */
  readonly write: 'create' | 'upsert';
  /** MSP ids of the organisations that endorse a write or action; absent: Fabric's discovery chooses. */
  readonly endorsers?: readonly string[];
}

/** Undefined: the mapping has no such action. */
export function actionOf({ shape }: Target, name: string): Action | undefined {
  return shape.kind === 'positional' && Object.hasOwn(shape.actions, name) ? shape.actions[name] : undefined;
}

/** Undefined: no history is mapped. */
export function historyOf({ shape }: Target): History | undefined {
  return shape.kind === 'positional' ? shape.history : undefined;
}

/** The organisations that must endorse a write or an action; undefined: Fabric's discovery chooses. */
export function endorsersOf(target: Target, action: string | undefined): readonly string[] | undefined {
  const own = action === undefined ? undefined : actionOf(target, action)?.endorsers;
  return own ?? target.endorsers;
}

/** The members of `data` that go as transient data, of a write or an action. */
export function transientOf(target: Target | undefined, action: string | undefined): readonly string[] {
  if (target?.shape.kind !== 'positional') return [];
  const own = action === undefined ? undefined : actionOf(target, action)?.transient;
  return own ?? target.shape.transient;
}

/** An entry of the mapping file: types and their target. */
export interface Mapping {
  /** A type, `prefix*`, or `*`. */
  readonly type: string;
  readonly target: Target;
}

/** Finds the target of a type; the most specific mapping wins: the exact type, the longest prefix, `*`. */
export class Mappings {
  /** Distinct, in the order of the file. */
  readonly targets: readonly Target[];
  readonly #mappings: readonly Mapping[];
  readonly #exact: ReadonlyMap<string, Target>;
  readonly #prefixes: readonly { readonly prefix: string; readonly target: Target }[];

  constructor(mappings: readonly Mapping[]) {
    this.#mappings = mappings;
    this.targets = [...new Set(mappings.map(({ target }) => target))];
    const isPrefix = ({ type }: Mapping) => type.endsWith('*');
    this.#exact = new Map(mappings.filter((mapping) => !isPrefix(mapping)).map(({ type, target }) => [type, target]));
    this.#prefixes = mappings
      .filter(isPrefix)
      .map(({ type, target }) => ({ prefix: type.slice(0, -1), target }))
      .sort((one, other) => other.prefix.length - one.prefix.length);
  }

  /** Undefined if no mapping matches the type. */
  find(type: string): Target | undefined {
    return this.#exact.get(type) ?? this.#prefixes.find(({ prefix }) => type.startsWith(prefix))?.target;
  }

  /** The mappings to this chaincode. */
  of({ channel, chaincode }: Pick<Target, 'channel' | 'chaincode'>): readonly Mapping[] {
    return this.#mappings.filter(({ target }) => target.channel === channel && target.chaincode === chaincode);
  }

  /** The types, prefixes or `*` that are mapped to this target. */
  typesOf(target: Target): string[] {
    return this.#mappings.flatMap((mapping) => (mapping.target === target ? [mapping.type] : []));
  }

  /** The types, prefixes or `*` whose mappings have the action. */
  typesWith(action: string): string[] {
    return this.#mappings.flatMap(({ type, target }) => (actionOf(target, action) === undefined ? [] : [type]));
  }

  /** Whether this peer serves a record of this type at this place: others may write there too. */
  serves(type: string, { channel, chaincode }: { readonly channel: string; readonly chaincode?: string }): boolean {
    const target = this.find(type);
    return target?.channel === channel && (chaincode === undefined || target.chaincode === chaincode);
  }

  /** Whether this peer serves every record of the channel, whatever its type. */
  servesAll(channel: string): boolean {
    const isEvery = this.#mappings.some(({ type }) => type === '*');
    return isEvery && this.#mappings.every(({ target }) => target.channel === channel);
  }
}

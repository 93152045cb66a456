/** What a contract calls the three things that are asked of it. */
export interface Transactions {
  readonly write: string;
  readonly read: string;
  readonly query: string;
}

/**
 * How arguments are written and answers read.
 * - `records`: our own contract (see `apps/ledger-chaincode`), and the embedded ledger; many assets are one transaction.
 * - `positional`: any other contract; each argument is a text in which `{id}`, `{type}`, `{data}`, `{data.<member>}`,
 *   `{assets}`, `{limit}` and `{bookmark}` are filled in. Without `{assets}` each asset is a transaction of its own.
 */
export type ContractShape =
  | { readonly kind: 'records' }
  | {
      readonly kind: 'positional';
      readonly write: readonly string[];
      readonly read: readonly string[];
      readonly query: readonly string[];
      /** The member of an asset, as the contract returns it, that holds its id. */
      readonly idMember: string;
      /** The contract's own words: a refusal that holds one of them means that there is no such asset. */
      readonly absentWords: readonly string[];
      /** Likewise: the id is taken. */
      readonly existsWords: readonly string[];
    };

/** Where assets go: one contract on one channel. Mappings that agree in all of it share one target. */
export interface Target {
  /** `<networkId>.<name>`. */
  readonly channel: string;
  readonly network: string;
  readonly chaincode: string;
  /** Undefined: the chaincode's default contract. */
  readonly contract: string | undefined;
  readonly transactions: Transactions;
  readonly shape: ContractShape;
  /** `create`: an id is given once. `upsert`: other content is a new version. */
  readonly write: 'create' | 'upsert';
}

/** A line of the mapping file: which types go where. */
export interface Mapping {
  /** A type, `prefix*`, or `*`. */
  readonly type: string;
  readonly target: Target;
}

/** Finds the target of a type; the most specific mapping wins: the very type, the longest prefix, `*`. */
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

  /** Undefined where no mapping names the type. */
  find(type: string): Target | undefined {
    return this.#exact.get(type) ?? this.#prefixes.find(({ prefix }) => type.startsWith(prefix))?.target;
  }

  /** Whether a record of this type, found in this place, is one that this peer serves: others may write there too. */
  serves(type: string, { channel, chaincode }: { readonly channel: string; readonly chaincode?: string }): boolean {
    const target = this.find(type);
    return target?.channel === channel && (chaincode === undefined || target.chaincode === chaincode);
  }

  /** Whether every record of the channel is one that this peer serves, whatever its type. */
  servesAll(channel: string): boolean {
    const isEvery = this.#mappings.some(({ type }) => type === '*');
    return isEvery && this.#mappings.every(({ target }) => target.channel === channel);
  }
}

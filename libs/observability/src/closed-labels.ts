/**
 * Allowed values of a label: a closed list, or `declared`: values declared through `child` at boot (route templates,
 * for example). Values chosen by a sender never become labels.
 */
type LabelValues = readonly string[] | 'declared';
export type LabelSets = Readonly<Record<string, LabelValues>>;

/** One value for every label of a metric. */
export type Labels<Sets extends LabelSets> = {
  readonly [Label in keyof Sets]: Sets[Label] extends readonly string[] ? Sets[Label][number] : string;
};

/** What to do with a label value outside its set: fail in tests, continue in production. */
export type UnknownLabels = 'throw' | 'other';

/** More combinations in one metric are a bug: unbounded values are being declared. */
const MAX_CHILDREN = 2000;
const OTHER = 'other';

interface ClosedLabelsOptions<Child> {
  readonly name: string;
  readonly sets: LabelSets;
  readonly unknownLabels: UnknownLabels;
  /** Exposes the metric with these values, as 0. */
  readonly makeChild: (labels: Record<string, string>) => Child;
}

/** The children of one metric, one per combination of label values. */
export class ClosedLabels<Child> {
  readonly #options: ClosedLabelsOptions<Child>;
  readonly #labelNames: readonly string[];
  readonly #children = new Map<string, Child>();

  constructor(options: ClosedLabelsOptions<Child>) {
    this.#options = options;
    this.#labelNames = Object.keys(options.sets);
    if (this.#labelNames.length === 0) this.declare({});
  }

  /**
   * Returns the child of these values, creating it if needed. This declares values of `declared` labels.
   * @throws RangeError for a value outside a closed list (unless unknown values become `other`) and beyond 2,000
   *   children.
   */
  declare(labels: Readonly<Record<string, string>>): Child {
    const known = Object.fromEntries(this.#labelNames.map((name) => [name, this.#listed(name, labels[name])]));
    const key = this.#keyOf(known);
    const existing = this.#children.get(key);
    if (existing !== undefined) return existing;
    if (this.#children.size >= MAX_CHILDREN) throw new RangeError(`${this.#options.name} has too many label values.`);
    const child = this.#options.makeChild(known);
    this.#children.set(key, child);
    return child;
  }

  /** Like `declare`, but an undeclared value of a `declared` label is unknown. */
  find(labels: Readonly<Record<string, string>>): Child {
    const existing = this.#children.get(this.#keyOf(labels));
    if (existing !== undefined) return existing;
    const declared = this.#labelNames.filter((name) => this.#options.sets[name] === 'declared');
    const renamed = declared.map((name) => [name, this.#unknown(name)]);
    return this.declare({ ...labels, ...Object.fromEntries(renamed) });
  }

  #keyOf(labels: Readonly<Record<string, string>>): string {
    return this.#labelNames.map((name) => labels[name]).join('\n');
  }

  #listed(name: string, value: string | undefined): string {
    const values = this.#options.sets[name];
    if (value !== undefined && (values === 'declared' || values?.includes(value) === true)) return value;
    return this.#unknown(name);
  }

  #unknown(name: string): string {
    if (this.#options.unknownLabels === 'other') return OTHER;
    throw new RangeError(`The label ${name} of ${this.#options.name} was given a value outside its closed set.`);
  }
}

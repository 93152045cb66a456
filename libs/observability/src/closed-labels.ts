/**
 * The values a label may have: a closed list, or `declared`: whatever was named through `child` at boot (route templates,
 * say). Nothing a sender chooses can become a label value.
 */
export type LabelValues = readonly string[] | 'declared';
export type LabelSets = Readonly<Record<string, LabelValues>>;

/** One value for every label of a metric. */
export type Labels<Sets extends LabelSets> = {
  readonly [Label in keyof Sets]: Sets[Label] extends readonly string[] ? Sets[Label][number] : string;
};

/** What becomes of a label value outside its set: a test should fail, production should go on. */
export type UnknownLabels = 'throw' | 'other';

/** More combinations than this in one metric are a bug: somebody declares values without end. */
const MAX_CHILDREN = 2000;
const OTHER = 'other';

interface ClosedLabelsOptions<Child> {
  readonly name: string;
  readonly sets: LabelSets;
  readonly unknownLabels: UnknownLabels;
  /** Exposes the metric with these values, as 0. */
  readonly makeChild: (labels: Record<string, string>) => Child;
}

/** The children of one metric, one for each combination of label values that was used. */
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
   * The child of these values, made where it is new. Values of `declared` labels are declared by this.
   * @throws RangeError for a value outside a closed list (unless unknown values become `other`) and past 2,000 children.
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

  /** As `declare`, but a value of a `declared` label that was never declared is unknown. */
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

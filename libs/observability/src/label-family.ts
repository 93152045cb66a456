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

/** One sample as the registry prints it. */
export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

/** More combinations than this in one metric are a bug: somebody declares values without end. */
const MAX_CHILDREN = 2000;
const OTHER = 'other';

export interface FamilyOptions<Child> {
  readonly name: string;
  readonly sets: LabelSets;
  readonly unknownLabels: UnknownLabels;
  readonly makeChild: () => Child;
}

/** The children of one metric, one for each combination of label values that was used. */
export class LabelFamily<Child> {
  readonly #options: FamilyOptions<Child>;
  readonly #labelNames: readonly string[];
  readonly #children = new Map<string, { readonly labels: Readonly<Record<string, string>>; readonly child: Child }>();

  constructor(options: FamilyOptions<Child>) {
    this.#options = options;
    this.#labelNames = Object.keys(options.sets);
    if (this.#labelNames.length === 0) this.child({});
  }

  /**
   * The child of these values, made where it is new. Values of `declared` labels are declared by this.
   * @throws RangeError for a value outside a closed list (unless unknown values become `other`) and past 2,000 children.
   */
  child(labels: Readonly<Record<string, string>>): Child {
    const known = Object.fromEntries(this.#labelNames.map((name) => [name, this.#listed(name, labels[name])]));
    const key = this.#labelNames.map((name) => known[name]).join('\n');
    const existing = this.#children.get(key);
    if (existing !== undefined) return existing.child;
    if (this.#children.size >= MAX_CHILDREN) throw new RangeError(`${this.#options.name} has too many label values.`);
    const child = this.#options.makeChild();
    this.#children.set(key, { labels: known, child });
    return child;
  }

  /** As `child`, but a value of a `declared` label that was never declared is unknown. */
  find(labels: Readonly<Record<string, string>>): Child {
    let key = '';
    for (const name of this.#labelNames) key += key === '' ? String(labels[name]) : `\n${labels[name]}`;
    const existing = this.#children.get(key);
    if (existing !== undefined) return existing.child;
    const declared = this.#labelNames.filter((name) => this.#options.sets[name] === 'declared');
    if (declared.length === 0) return this.child(labels);
    const renamed = declared.map((name) => [name, this.#unknown(name)]);
    return this.child({ ...labels, ...Object.fromEntries(renamed) });
  }

  *[Symbol.iterator](): Generator<readonly [Readonly<Record<string, string>>, Child]> {
    for (const { labels, child } of this.#children.values()) yield [labels, child];
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

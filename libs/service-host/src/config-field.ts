/** One environment variable of a service: what it means, what it may be, and what holds when it is not set. */
export interface ConfigField<Value> {
  /** Upper case, words joined by underscores; a unit is the last word. */
  readonly name: string;
  /** One sentence for the table in the README. */
  readonly description: string;
  /** What it may be, for the table: `a port`, `true or false`. */
  readonly form: string;
  /** Never has a default, and is never shown. */
  readonly isSecret: boolean;
  /** Absent: the service does not start without the variable. */
  readonly fallback?: { readonly value: Value; readonly shown: string };
  /** @throws Error saying what the text must be. The message never holds the text. */
  parse(text: string): Value;
}

/** The value of a field. */
export type ValueOf<Field> = Field extends ConfigField<infer Value> ? Value : never;

/** The fields of a service by the names its code uses. */
export type ConfigFields = Readonly<Record<string, ConfigField<unknown>>>;

/** What `loadConfig` makes of the fields. */
export type Config<Fields extends ConfigFields> = { readonly [Name in keyof Fields]: ValueOf<Fields[Name]> };

interface FieldText {
  readonly name: string;
  readonly description: string;
}

/** `default: undefined` makes a variable optional; without `default` it is required. */
type WithDefault<Value> = FieldText & { readonly default?: Value };

/**
 * A field with a form of its own.
 * @param options.parse throws Error saying what the text must be, without repeating it.
 */
export function customField<Value>(
  options: FieldText & {
    readonly form: string;
    readonly parse: (text: string) => Value;
    readonly isSecret?: boolean;
    readonly fallback?: { readonly value: Value; readonly shown: string };
  },
): ConfigField<Value> {
  return { isSecret: false, ...options };
}

export function textField(options: WithDefault<string>): ConfigField<string>;
export function textField(options: FieldText & { readonly default: undefined }): ConfigField<string | undefined>;
export function textField(options: FieldText & { readonly default?: string | undefined }) {
  return customField<string | undefined>({ ...optionalText(options), form: 'text', parse: (text) => text });
}

/** A whole number, without sign, leading zero or unit. */
export function integerField(options: WithDefault<number> & Range): ConfigField<number>;
export function integerField(
  options: FieldText & Range & { readonly default: undefined },
): ConfigField<number | undefined>;
export function integerField(options: FieldText & Range & { readonly default?: number | undefined }) {
  const { min, max } = options;
  return customField<number | undefined>({
    ...optionalText(options),
    form: `a whole number from ${min} to ${max}`,
    parse: (text) => {
      const value = /^(0|[1-9][0-9]{0,14})$/.test(text) ? Number(text) : Number.NaN;
      if (!(value >= min && value <= max)) throw new Error(`must be a whole number from ${min} to ${max}`);
      return value;
    },
  });
}

interface Range {
  readonly min: number;
  readonly max: number;
}

export function booleanField(options: WithDefault<boolean>): ConfigField<boolean> {
  return customField({
    ...fieldText(options),
    form: '`true` or `false`',
    parse: (text) => {
      if (text !== 'true' && text !== 'false') throw new Error('must be true or false');
      return text === 'true';
    },
  });
}

/** One of a few words. */
export function choiceField<const Word extends string>(
  options: WithDefault<NoInfer<Word>> & { readonly choices: readonly Word[] },
): ConfigField<Word> {
  const { choices } = options;
  return customField({
    ...fieldText(options),
    form: choices.map((word) => `\`${word}\``).join(', '),
    parse: (text) => {
      const choice = choices.find((word) => word === text);
      if (choice === undefined) throw new Error(`must be one of ${choices.join(', ')}`);
      return choice;
    },
  });
}

/** What all fields say, and what holds when the variable is not set. */
function fieldText<Value>(options: FieldText & { readonly default?: Value }) {
  const { name, description } = options;
  return options.default === undefined
    ? { name, description }
    : { name, description, fallback: { value: options.default, shown: `\`${String(options.default)}\`` } };
}

/** The same for a field that may be left out altogether. */
function optionalText<Value>(options: FieldText & { readonly default?: Value | undefined }) {
  const { name, description } = options;
  const isOptional = 'default' in options && options.default === undefined;
  return isOptional
    ? { name, description, fallback: { value: undefined, shown: 'none' } }
    : fieldText<Value | undefined>({
        name,
        description,
        ...(options.default !== undefined && { default: options.default }),
      });
}

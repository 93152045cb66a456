import { readFileSync, writeFileSync } from 'node:fs';

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment is not valid. The message has one line per fault, and no values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads the variables of a service. An empty variable counts as unset.
 * @returns a frozen object.
 * @throws ConfigError listing every fault at once: missing, malformed or unknown variables.
 */
export function loadConfig<const Fields extends ConfigFields>(
  fields: Fields,
  env: Environment,
  options: {
    /** Faults in combinations of variables; called once each variable is valid. */
    readonly check?: (config: Config<Fields>) => readonly string[];
    /** Fields read elsewhere from the same environment: their variables are not reported as unknown. */
    readonly others?: ConfigFields;
  } = {},
): Config<Fields> {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(fields)) values[key] = read(field, env, faults);
  const names = [...Object.values(fields), ...Object.values(options.others ?? {})].map(({ name }) => name);
  faults.push(...unknownVariables(names, env).map((name) => `${name}: is not a variable of this service`));
  // Each field was parsed by its own parser, so the object has the declared type.
  const config = Object.freeze(values) as Config<Fields>;
  if (faults.length === 0) faults.push(...(options.check?.(config) ?? []));
  if (faults.length === 0) return config;
  throw new ConfigError(`The configuration is not valid:\n${faults.map((fault) => `- ${fault}`).join('\n')}`);
}

function read(field: ConfigField<unknown>, env: Environment, faults: string[]): unknown {
  const text = env[field.name];
  const isSet = text !== undefined && text !== '' && !isSetByKubernetes(field.name, text);
  if (!isSet) {
    if (field.fallback === undefined) faults.push(`${field.name}: is required`);
    return field.fallback?.value;
  }
  try {
    return field.parse(text);
  } catch (error) {
    faults.push(`${field.name}: ${messageOf(error, field, text)}`);
    return undefined;
  }
}

/** If a parser quotes a secret, its message is replaced. */
function messageOf(error: unknown, field: ConfigField<unknown>, text: string): string {
  const message = error instanceof Error && error.message !== '' ? error.message : 'is not valid';
  return field.isSecret && message.includes(text) ? 'is not valid' : message;
}

/** One environment variable of a service: its name, format and default. */
interface ConfigField<Value> {
  /** Upper snake case; a unit is the last word. */
  readonly name: string;
  /** One sentence for the README table. */
  readonly description: string;
  /** Accepted format, for the table: `a port`, `true or false`. */
  readonly form: string;
  /** A secret has no default and is never printed. */
  readonly isSecret: boolean;
  /** Absent: the variable is required. */
  readonly fallback?: { readonly value: Value; readonly shown: string };
  /** @throws Error that states the expected format, and never quotes the text. */
  parse(text: string): Value;
}

/** The value of a field. */
type ValueOf<Field> = Field extends ConfigField<infer Value> ? Value : never;

/** The fields of a service, by the names used in code. */
export type ConfigFields = Readonly<Record<string, ConfigField<unknown>>>;

/** The result of `loadConfig`. */
export type Config<Fields extends ConfigFields> = { readonly [Name in keyof Fields]: ValueOf<Fields[Name]> };

interface FieldText {
  readonly name: string;
  readonly description: string;
}

/** `default: undefined` makes a variable optional; without `default` it is required. */
type WithDefault<Value> = FieldText & { readonly default?: Value };

/**
 * A field with a custom format.
 * @param options.parse throws Error that states the expected format, without quoting the text.
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

/** A non-negative integer, without leading zero or unit. */
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

/** One of several words. */
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

/** The common members of a field, with its default. */
function fieldText<Value>(options: FieldText & { readonly default?: Value }) {
  const { name, description } = options;
  return options.default === undefined
    ? { name, description }
    : { name, description, fallback: { value: options.default, shown: `\`${String(options.default)}\`` } };
}

/** Like `fieldText`, for an optional field. */
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

/** Prefix reserved for our services. */
const OWN_PREFIX = 'SEALGATE_';

/** The OpenTelemetry operator sets variables with this prefix in every pod; unknown ones are ignored. */
const PLATFORM_PREFIX = 'OTEL_';

/** Fabric's own commands read these, so operators of a network have them in their environment. */
const OF_FABRIC = ['FABRIC_CFG_PATH', 'FABRIC_LOGGING_SPEC'];

/** Kubernetes sets variables of these forms for every service of the namespace. */
const SERVICE_VARIABLE = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/;
const SERVICE_LINK = /_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

/** Whether the variable was set by Kubernetes: a service named `redis` sets REDIS_PORT to `tcp://10.0.0.7:6379`. */
function isSetByKubernetes(name: string, value: string): boolean {
  if (SERVICE_VARIABLE.test(name) || SERVICE_LINK.test(name)) return true;
  return name.endsWith('_PORT') && SERVICE_URL.test(value);
}

/**
 * Unknown variables that are most likely meant for this service: those that begin with `SEALGATE_`, or share their
 * first word with a known variable (a misspelt `LEDGER_DRIVR`). All others, and those of OpenTelemetry and of Fabric's commands, are ignored.
 */
function unknownVariables(known: readonly string[], env: Environment): string[] {
  const ours = new Set(known);
  const words = new Set(known.filter((name) => name.includes('_')).map(firstWord));
  return Object.keys(env)
    .filter((name) => !name.startsWith(PLATFORM_PREFIX) && !OF_FABRIC.includes(name))
    .filter(
      (name) => !ours.has(name) && (name.startsWith(OWN_PREFIX) || (name.includes('_') && words.has(firstWord(name)))),
    )
    .filter((name) => !isSetByKubernetes(name, env[name] ?? ''))
    .sort();
}

function firstWord(name: string): string {
  return name.slice(0, name.indexOf('_'));
}

/** Markers around the table in a README. */
const BEGIN = '<!-- config:begin -->';
const END = '<!-- config:end -->';

/** The configuration of a service as a Markdown table, in the order of its fields. */
export function configTable(fields: ConfigFields): string {
  const rows = Object.values(fields).map((field) => {
    const fallback = field.fallback === undefined ? 'required' : field.fallback.shown;
    return [`\`${field.name}\``, field.description, field.isSecret ? `${field.form}; secret` : field.form, fallback];
  });
  const table = [['Variable', 'Meaning', 'Form', 'Default'], ['-', '-', '-', '-'], ...rows];
  return table.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`).join('\n');
}

/**
 * Compares the table in a README with the fields, for the test that keeps it up to date. Column alignment is ignored.
 * With `write` the table is updated instead.
 * @throws Error naming the first row that differs, or when the markers are missing.
 */
export function checkConfigTable(readmePath: string, fields: ConfigFields, options: { write: boolean }): void {
  const readme = readFileSync(readmePath, 'utf8');
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${readmePath} has no place for the table: ${BEGIN} and ${END}.`);
  const table = configTable(fields);
  if (options.write) {
    writeFileSync(readmePath, `${readme.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${readme.slice(end)}`);
    return;
  }
  const found = rowsOf(readme.slice(begin + BEGIN.length, end));
  const wanted = rowsOf(table);
  const row = wanted.findIndex((text, index) => found[index] !== text);
  if (row < 0 && found.length === wanted.length) return;
  const at = row < 0 ? wanted.length : row;
  throw new Error(
    `${readmePath} is stale: it has ${found[at] ?? 'no row'} where the fields have ${wanted[at] ?? 'none'}.`,
  );
}

function rowsOf(table: string): string[] {
  const lines = table.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => line.trim().replaceAll(/-+/g, '-').replaceAll(/ +/g, ' '));
}

/** A start failure that the operator can fix. The message is one sentence that says how. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Opens a resource during the start.
 * @param Mendable errors of `open` whose messages tell the operator what to fix.
 * @throws StartError in their place; any other error of `open` unchanged.
 */
export async function openedOrStartError<Opened>(
  Mendable: abstract new (...parameters: never[]) => Error,
  open: () => Promise<Opened>,
): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof Mendable) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

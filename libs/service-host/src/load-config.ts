import type { Config, ConfigField, ConfigFields } from './config-field.ts';
import { isSetByKubernetes, unknownVariables } from './foreign-variables.ts';

/** The environment of the process, or one made up by a test. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment does not describe a service. The message has a line for each fault, and no value of any variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export interface LoadOptions<Fields extends ConfigFields> {
  /** Faults that only several variables together have; asked once each of them is fine by itself. */
  readonly check?: (config: Config<Fields>) => readonly string[];
  /** Fields that somebody else reads from the same environment: their variables are known here too. */
  readonly others?: ConfigFields;
}

/**
 * Reads the variables of a service. A variable that is set to nothing counts as not set.
 * @returns a frozen object.
 * @throws ConfigError naming every fault of every variable at once: missing, malformed, or meant for us but unknown.
 */
export function loadConfig<const Fields extends ConfigFields>(
  fields: Fields,
  env: Environment,
  options: LoadOptions<Fields> = {},
): Config<Fields> {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(fields)) values[key] = read(field, env, faults);
  const names = [...Object.values(fields), ...Object.values(options.others ?? {})].map(({ name }) => name);
  faults.push(...unknownVariables(names, env).map((name) => `${name}: is not a variable of this service`));
  // Each field was parsed by its own parser, so the object has the type that the fields declare.
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

/** Where a secret is concerned, a parser that quotes what it was given is not let finish its sentence. */
function messageOf(error: unknown, field: ConfigField<unknown>, text: string): string {
  const message = error instanceof Error && error.message !== '' ? error.message : 'is not valid';
  return field.isSecret && message.includes(text) ? 'is not valid' : message;
}

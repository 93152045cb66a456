import type { Environment } from './load-config.ts';

/** Every service of ours may be spoken to under this prefix. */
const OWN_PREFIX = 'SEALGATE_';

/** OpenTelemetry's operator and agents set variables of this prefix in every pod; those that we do not read are theirs. */
const PLATFORM_PREFIX = 'OTEL_';

/** Kubernetes tells every pod about every service of its namespace, in variables of these forms. */
const SERVICE_VARIABLE = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/;
const SERVICE_LINK = /_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

/** Whether Kubernetes has set the variable: a service called `redis` sets REDIS_PORT to `tcp://10.0.0.7:6379`. */
export function isSetByKubernetes(name: string, value: string): boolean {
  if (SERVICE_VARIABLE.test(name) || SERVICE_LINK.test(name)) return true;
  return name.endsWith('_PORT') && SERVICE_URL.test(value);
}

/**
 * Variables that somebody must have meant for us, and that nobody reads: those that begin with `SEALGATE_`, or share
 * their first word with a variable of ours (a misspelt `LEDGER_DRIVR`). Everything else belongs to others, and so do
 * variables of OpenTelemetry.
 */
export function unknownVariables(known: readonly string[], env: Environment): string[] {
  const ours = new Set(known);
  const words = new Set(known.filter((name) => name.includes('_')).map(firstWord));
  return Object.keys(env)
    .filter((name) => !name.startsWith(PLATFORM_PREFIX))
    .filter(
      (name) => !ours.has(name) && (name.startsWith(OWN_PREFIX) || (name.includes('_') && words.has(firstWord(name)))),
    )
    .filter((name) => !isSetByKubernetes(name, env[name] ?? ''))
    .sort();
}

function firstWord(name: string): string {
  return name.slice(0, name.indexOf('_'));
}

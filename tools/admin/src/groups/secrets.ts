import { hash, randomBytes } from 'node:crypto';
import { documentSigner, generateDocumentKey, jwksOf } from '@sealgate/envelope';
import { generateNoteKey } from '@sealgate/merkle';
import { Option } from 'commander';
import type { CodeCommand } from '../command-spec.ts';
import { EXIT_CODES, UsageError } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';
import type { GroupRows } from '../row-command.ts';
import { printable, rowFields } from '../row-table.ts';

/** Response of `GET /admin/v1/secrets`; see `SecretReport`. */
interface Report {
  readonly processes: readonly { readonly process: string; readonly ids: readonly string[]; readonly seenAt: string }[];
  readonly secrets: readonly Secret[];
  readonly accepted: readonly Accepted[];
}

interface Secret {
  readonly id: string;
  readonly makes: number;
  readonly checks: number;
  readonly unaware: number;
  readonly lastMadeAt: string | null;
  readonly needs: readonly { readonly what: string; readonly rows: number | null; readonly until: string | null }[];
}

/** A token or key, by the first digits of its hash. */
interface Accepted {
  readonly variable: string;
  readonly id: string;
  readonly accepts: number;
  readonly unaware: number;
  readonly lastUsedAt: string | null;
}

/** A token that is used once a day has been used within this time. */
const UNUSED_MS = 86_400_000;

interface NewOptions {
  readonly family?: string;
  readonly id?: string;
  readonly name?: string;
}

const randomText = (): string => randomBytes(32).toString('base64url');
const hashed = (text: string): string => hash('sha256', text, 'hex');

interface Kind {
  /** The variable of the secret, then related values. */
  readonly make: (options: NewOptions) => Readonly<Record<string, string>>;
  /** The steps of a rotation; each waits until every process has applied the previous one. */
  readonly steps: readonly string[];
}

const SERVER_SECRET = 'server-secret';

const KINDS: Readonly<Record<string, Kind>> = {
  [SERVER_SECRET]: {
    make: ({ id = `s-${randomBytes(4).toString('hex')}` }) => {
      if (!/^[A-Za-z0-9_-]{1,32}$/.test(id)) throw new UsageError('--id takes 1-32 letters, digits, _ and -.');
      return { SERVER_SECRETS: `${id}:${randomText()}` };
    },
    steps: [],
  },
  'ledger-signing-key': {
    make: ({ name }) => {
      if (name === undefined) throw new UsageError('--name is required: the LEDGER_ORIGIN.');
      const { privateKey, verifierKey } = generateNoteKey(name);
      return { LEDGER_SIGNING_KEY: privateKey, LEDGER_VERIFIER_KEYS: verifierKey };
    },
    steps: [
      'Accept: add the new verifier key to LEDGER_VERIFIER_KEYS of every surface, in addition to the current one. Give it to everyone who pins keys.',
      'Use: set LEDGER_SIGNING_KEY of the integrator to "NEW,OLD", so that both sign.',
      'Once everyone who pins keys has the new one: set LEDGER_SIGNING_KEY to NEW only, and destroy OLD.',
      'The old verifier key stays in LEDGER_VERIFIER_KEYS permanently: stored proofs and saved checkpoints have its signature.',
    ],
  },
  'document-signing-key': {
    make: () => {
      const pem = generateDocumentKey();
      return {
        // On one line, which its variable also accepts.
        DOCUMENT_SIGNING_KEY: pem.trim().replaceAll('\n', '\\n'),
        DOCUMENT_RETIRED_KEYS: JSON.stringify(jwksOf([documentSigner(pem).jwk])),
      };
    },
    steps: [
      'Accept: add the public half of the new key (its JWK) to DOCUMENT_RETIRED_KEYS of the case gate, so that every process publishes it before any process signs with it.',
      'Use: set DOCUMENT_SIGNING_KEY to the new key, and add the public half of the old one to DOCUMENT_RETIRED_KEYS.',
      'Destroy the old key. Its public half stays in DOCUMENT_RETIRED_KEYS permanently: it verifies the packs that it signed.',
    ],
  },
  'admin-token': {
    make: () => {
      const token = randomText();
      return { SEALGATE_ADMIN_TOKEN: token, ADMIN_TOKEN_HASHES: hashed(token) };
    },
    steps: [
      'Accept: add the hash of the new token to ADMIN_TOKEN_HASHES, separated by a comma. If that is a file, it is reloaded within a second; otherwise restart the processes one by one.',
      'Use: once "sealgate secrets status" shows that every process accepts it, give the new token to the users of the old one (SEALGATE_ADMIN_TOKEN).',
      'Retire: when "sealgate secrets status --retire ID" shows that the old one is no longer used (ID: the first 8 digits of its hash), remove its hash.',
    ],
  },
  'api-key': {
    make: ({ family }) => {
      if (family !== undefined && !/^[a-z0-9][a-z0-9-]{0,62}$/i.test(family))
        throw new UsageError('--family takes 1-63 letters, digits and -, and begins with a letter or digit.');
      const key = randomText();
      return { 'X-Api-Key': key, API_KEY_HASHES: `${family === undefined ? '' : `${family}:`}${hashed(key)}` };
    },
    steps: [
      'Accept: generate the key with --family of the old one (the part before its hash in API_KEY_HASHES, else the first 16 digits of the hash), so that jobs and Idempotency-Keys stay valid, and add it to API_KEY_HASHES of the ledger peer, separated by a comma. If that is a file, it is reloaded within a second; otherwise restart the processes one by one.',
      'Use: once "sealgate secrets status" shows that every process accepts it, give the new key to the sender.',
      'Retire: when "sealgate secrets status --retire ID" shows that the old one is no longer used (ID: the first 8 digits of its hash), remove it. Never remove the family of a remaining key: its requests are identified by it.',
    ],
  },
  'database-password': {
    make: () => ({ password: randomText() }),
    steps: [
      'Accept: create a second login role with the new password, and run the migration job of the surface with it in DATABASE_URL, which grants it the same rights.',
      'Use: write the URL with the new role into the file of DATABASE_URL (file:///path), or change DATABASE_URL and restart the processes one by one.',
      'Retire: drop the old role once pg_stat_activity shows no connection of it.',
    ],
  },
};

const kindNames = Object.keys(KINDS).join(', ');

function kindOf(name: string): Kind {
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
  if (kind === undefined) throw new UsageError(`Unknown kind of secret. Kinds: ${kindNames}.`);
  return kind;
}

const make: CodeCommand<NewOptions> = {
  summary: 'Generate a secret in the format of its variable; nothing is sent, and it is shown only once',
  details: `Kinds: ${kindNames}. Its public key or hash is printed with the variable it belongs to.`,
  examples: ['sealgate secrets new server-secret', 'sealgate secrets new ledger-signing-key --name ledger.example.com'],
  options: [
    new Option('--id <id>', 'for a server secret: its unique name in logs and tables'),
    new Option('--family <family>', 'for an api-key: the family of the key it replaces'),
    new Option('--name <name>', 'for a ledger signing key: the LEDGER_ORIGIN'),
  ],
  isOffline: () => true,
  run: async (session, [kind = ''], options) => {
    const made = kindOf(kind).make(options);
    session.print(session.json ? `${JSON.stringify({ kind, ...made })}\n` : rowFields(made));
  },
};

const status: CodeCommand<{ readonly retire?: string }> = {
  summary: 'Show the server secrets of the processes, what needs each and until when, and the accepted tokens and keys',
  details:
    'For the surface of the admin API; tokens and keys by the first 8 digits of their hashes. Exit code 1 if a process lacks a needed secret or, with --retire, if the secret, token or key of that id cannot be removed yet.',
  examples: ['sealgate secrets status', 'sealgate secrets status --retire s1'],
  options: [new Option('--retire <id>', 'check whether this secret, token or key can be removed')],
  run: async (session, _args, { retire }) => {
    const answer = await session.api.json({ method: 'GET', path: '/secrets' });
    const report = reportOf(answer.value);
    const faults = retire === undefined ? faultsOf(report) : reasonsToKeep(report, retire);
    const variable = report.accepted.find(({ id }) => id === retire)?.variable ?? 'SERVER_SECRETS';
    session.show(answer, () => `${statusText(report)}${verdictText(faults, { retire, variable })}`);
    return faults.length > 0 ? EXIT_CODES.refused : EXIT_CODES.done;
  },
};

const rotate: CodeCommand = {
  summary: 'Show the next step of a rotation of a secret; nothing is changed',
  details: `Kinds: ${kindNames}. For a server-secret it depends on the state of the surface's processes.`,
  examples: ['sealgate secrets rotate server-secret'],
  isOffline: ([kind]) => kind !== SERVER_SECRET,
  run: async (session, [kind = '']) => {
    const { steps } = kindOf(kind);
    if (kind !== SERVER_SECRET) {
      const text = steps.map((step, at) => `${at + 1}. ${step}\n`).join('');
      session.print(session.json ? `${JSON.stringify({ kind, steps })}\n` : text);
      return;
    }
    const answer = await session.api.json({ method: 'GET', path: '/secrets' });
    const next = nextStep(reportOf(answer.value));
    session.print(session.json ? `${JSON.stringify({ kind, next })}\n` : `${printable(next)}\n`);
  },
};

export const secretsGroup: GroupRows = {
  name: 'secrets',
  summary:
    'Secrets of the deployment: generate them, and rotate them without failed requests. Each surface has its own.',
  surfaces: ['case-gate', 'ingest-gateway', 'ledger-peer', 'risk-partner'],
  commands: { 'new <kind>': make, status, 'rotate <kind>': rotate },
};

/** Missing members count as empty: an admin API of another version may omit them. */
function reportOf(value: JsonObject): Report {
  const { processes = [], secrets = [], accepted = [] } = value as unknown as Partial<Report>;
  return { processes, secrets, accepted };
}

/** Secrets that are needed, but missing in some process: there requests fail. */
function faultsOf({ secrets, accepted }: Report): string[] {
  const refused = accepted.filter(({ unaware, lastUsedAt }) => unaware > 0 && lastUsedAt !== null);
  const missing = secrets
    .filter(({ needs, makes, unaware }) => unaware > 0 && (makes > 0 || needs.length > 0))
    .map(
      (secret) =>
        `${unawareText(secret)} do not have ${secret.id}, which ${secret.makes > 0 ? 'others use' : needsText(secret)}`,
    );
  return [
    ...missing,
    ...refused.map(
      ({ variable, id, accepts, unaware }) =>
        `${unaware} of ${unaware + accepts} processes do not accept ${id} of ${variable}, which is in use`,
    ),
  ];
}

const unawareText = ({ unaware, makes, checks }: Secret): string =>
  `${unaware} of ${unaware + makes + checks} processes`;

function reasonsToKeep(report: Report, id: string): string[] {
  const { secrets, accepted } = report;
  const token = accepted.find((one) => one.id === id);
  if (token !== undefined) return reasonsToAccept(report, token);
  const secret = secrets.find((one) => one.id === id);
  if (secret === undefined) return [];
  const made = secret.makes > 0 ? [`${secret.makes} processes use ${id}`] : [];
  return [...made, ...secret.needs.map((need) => `${id} is needed for ${needText(need)}`)];
}

function reasonsToAccept({ processes, accepted }: Report, { variable, id, lastUsedAt }: Accepted): string[] {
  const others = accepted.filter((one) => one.variable === variable && one.id !== id && one.unaware === 0);
  // By the clocks of the service.
  const nowMs = Math.max(...processes.map(({ seenAt }) => Date.parse(seenAt)));
  const isUsed = lastUsedAt !== null && Date.parse(lastUsedAt) > nowMs - UNUSED_MS;
  return [
    ...(others.length === 0 ? [`${variable} has no other that every process accepts`] : []),
    ...(isUsed ? [`${id} was used within the last day, at ${lastUsedAt}`] : []),
  ];
}

function needText({ what, rows, until }: Secret['needs'][number]): string {
  const count = rows === null ? '' : `${rows} `;
  return `${count}${what}, ${until === null ? 'until they are recreated with the new one' : `until ${until}`}`;
}

const needsText = ({ needs }: Secret): string => `is needed for ${needs.map(needText).join('; ')}`;

function statusText({ processes, secrets, accepted }: Report): string {
  const lines = secrets.map((secret) => {
    const { id, makes, checks, lastMadeAt } = secret;
    const role = makes > 0 ? `${makes} use it, ${checks} accept it` : `${checks} accept it`;
    const last = makes === 0 && lastMadeAt !== null ? `, last used at ${lastMadeAt}` : '';
    const needs = secret.needs.map((need) => `\n  needed for ${needText(need)}`).join('');
    return printable(`${id}: of ${processes.length} processes ${role}${last}`) + needs.replaceAll(/[^\n]+/g, printable);
  });
  for (const { variable, id, accepts, unaware, lastUsedAt } of accepted) {
    const used = lastUsedAt === null ? 'never used' : `last used at ${lastUsedAt}`;
    lines.push(printable(`${id} of ${variable}: of ${accepts + unaware} processes ${accepts} accept it, ${used}`));
  }
  return lines.length === 0 ? 'No process has reported yet.\n' : `${lines.join('\n')}\n`;
}

function verdictText(
  faults: readonly string[],
  { retire, variable }: { readonly retire: string | undefined; readonly variable: string },
): string {
  const told = faults.map((fault) => `\n${printable(fault)}.`).join('');
  if (retire === undefined) return faults.length === 0 ? '' : `\nA secret is missing.${told}\n`;
  if (faults.length === 0) return `\n${printable(retire)} can be removed from ${variable}.\n`;
  return `\n${printable(retire)} must stay in ${variable}.${told}\n`;
}

/** From the reports of the processes in the last minutes. */
function nextStep({ processes, secrets }: Omit<Report, 'accepted'>): string {
  const [first] = processes;
  if (first === undefined) return 'No process has reported yet. Wait two minutes and try again.';
  const lists = new Set(processes.map(({ ids }) => ids.join(',')));
  if (lists.size > 1)
    return `Wait: the processes have different lists (${[...lists].join(' and ')}). Continue once all have been restarted.`;
  const [making = '', ...others] = first.ids;
  const made = (id: string): boolean => secrets.some((one) => one.id === id && one.lastMadeAt !== null);
  const [next] = others.filter((id) => !made(id));
  if (next !== undefined)
    return `Use: move ${next} to the front of SERVER_SECRETS (${[next, making, ...others.filter((id) => id !== next)].join(',')}), and restart the processes one by one. All of them accept it already.`;
  const earlier = secrets.filter(({ id }) => others.includes(id));
  const free = earlier.find(({ needs }) => needs.length === 0);
  if (free !== undefined) return `Retire: remove ${free.id} from SERVER_SECRETS, and restart the processes one by one.`;
  const [waiting] = earlier;
  if (waiting !== undefined) return `Wait: ${waiting.id} ${needsText(waiting)}.`;
  return `Accept: generate a secret (sealgate secrets new server-secret), add it at the end of SERVER_SECRETS (${making},NEW), and restart the processes one by one.`;
}

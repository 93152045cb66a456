/** The surfaces that the console supports, by folder name. */
export const SURFACE_IDS = ['risk-partner', 'case-gate', 'ledger-peer', 'ingest-gateway'] as const;

export type SurfaceId = (typeof SURFACE_IDS)[number];

/** A listener that requests are forwarded to. */
export interface Listener {
  /** Without trailing slash. */
  readonly url: string;
  /** The audience of its tokens (RFC 8707); undefined if it accepts none. */
  readonly audience: string | undefined;
}

/** The configuration of one surface. */
export interface Surface {
  readonly id: SurfaceId;
  readonly api: Listener | undefined;
  readonly admin: Listener | undefined;
  /** URL of the public listener for others than the console; undefined if it has none. */
  readonly publicUrl: string | undefined;
  /** Its ops listener; undefined: the overview leaves this surface out. */
  readonly opsUrl: string | undefined;
}

/** The header for a key that a person typed. */
export const keyHeader = (id: SurfaceId, key: string): readonly [name: string, value: string] =>
  id === 'risk-partner' || id === 'case-gate' ? ['Authorization', `Bearer ${key}`] : ['X-Api-Key', key];

/** The distinct audiences of all surfaces. */
export const audiencesOf = (surfaces: readonly Surface[]): string[] => [
  ...new Set(surfaces.flatMap(({ api, admin }) => [api?.audience, admin?.audience]).filter((one) => one !== undefined)),
];

const MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'apiUrl',
  'apiAudience',
  'publicUrl',
  'adminUrl',
  'adminAudience',
  'opsUrl',
]);
const MAX_AUDIENCE_CHARACTERS = 512;

/**
 * CONSOLE_SURFACES: a JSON list of `{"id", "apiUrl"?, "apiAudience"?, "publicUrl"?, "adminUrl"?, "adminAudience"?,
 * "opsUrl"?}`.
 * @throws Error naming every fault by its location, without quoting values.
 */
export function parseSurfaces(text: string): Surface[] {
  const list = listOf(text);
  const faults: string[] = [];
  const surfaces = list.map((entry, index) => surfaceOf(entry, (fault) => faults.push(`/${index}${fault}`)));
  const ids = surfaces.map(({ id }) => id);
  if (new Set(ids).size !== ids.length) faults.push('names a surface twice');
  if (faults.length > 0) throw new Error(`must be a list of surfaces: ${faults.join('; ')}`);
  return surfaces;
}

function listOf(text: string): unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('must be JSON');
  }
  if (!Array.isArray(value) || value.length === 0) throw new Error('must be a JSON list with a surface in it');
  return value;
}

type Tell = (fault: string) => void;

function surfaceOf(entry: unknown, tell: Tell): Surface {
  const given = typeof entry === 'object' && entry !== null ? (entry as Readonly<Record<string, unknown>>) : {};
  for (const name of Object.keys(given)) if (!MEMBERS.has(name)) tell(' has a member that is none of a surface');
  const id = SURFACE_IDS.find((known) => known === given['id']);
  if (id === undefined) tell(`/id must be one of ${SURFACE_IDS.join(', ')}`);
  const of = (member: string) => listenerOf(given, member, tell);
  const [api, admin] = [of('api'), of('admin')];
  if (api === undefined && admin === undefined) tell(' has neither apiUrl nor adminUrl');
  const publicUrl = urlOf(given, 'publicUrl', tell) ?? api?.url;
  // The result is not used if there were faults.
  return { id: id as SurfaceId, api, admin, publicUrl, opsUrl: urlOf(given, 'opsUrl', tell) };
}

function listenerOf(given: Readonly<Record<string, unknown>>, member: string, tell: Tell): Listener | undefined {
  const [urlName, audienceName] = [`${member}Url`, `${member}Audience`];
  const url = urlOf(given, urlName, tell);
  const audience = given[audienceName];
  if (audience !== undefined && !isAudience(audience)) tell(`/${audienceName} must be a URI without fragment`);
  if (url === undefined && audience !== undefined) tell(`/${audienceName} needs ${urlName}`);
  return url === undefined ? undefined : { url, audience: typeof audience === 'string' ? audience : undefined };
}

/** RFC 8707, section 2: an absolute URI without fragment. */
const isAudience = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= MAX_AUDIENCE_CHARACTERS && URL.canParse(value) && !value.includes('#');

/** Parsing a URL removes dot segments, appending to it does not; so URLs with them are refused. */
function urlOf(given: Readonly<Record<string, unknown>>, name: string, tell: Tell): string | undefined {
  const value = given[name];
  if (value === undefined) return undefined;
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  const plain = url === undefined ? '' : `${url.origin}${url.pathname === '/' ? '' : url.pathname}`;
  if (plain === '' || !/^https?:/.test(plain) || plain !== value || /\/$|\/\/.*\/\//.test(plain)) {
    tell(`/${name} must be a URL of http or https without user, query, fragment, dot segments or trailing slash`);
    return undefined;
  }
  return value;
}

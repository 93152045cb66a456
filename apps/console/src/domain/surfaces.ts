/** The surfaces that the console supports, by folder name. */
export const SURFACE_IDS = ['risk-partner', 'case-gate', 'ledger-peer', 'ingest-gateway'] as const;

export type SurfaceId = (typeof SURFACE_IDS)[number];

/** How a token for a listener is asked for: by `resource` (RFC 8707), or by a scope where providers refuse that. */
export interface Audience {
  readonly by: 'resource' | 'scope';
  readonly value: string;
}

/** A listener that requests are forwarded to. */
export interface Listener {
  /** Without trailing slash. */
  readonly url: string;
  /** The audience of its tokens; undefined if it accepts none. */
  readonly audience: Audience | undefined;
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
export function audiencesOf(surfaces: readonly Surface[]): Audience[] {
  const all = surfaces.flatMap(({ api, admin }) => [api?.audience, admin?.audience]).filter((one) => one !== undefined);
  return [...new Map(all.map((audience) => [audienceKey(audience), audience])).values()];
}

/** Equal for equal audiences. */
export const audienceKey = ({ by, value }: Audience): string => `${by} ${value}`;

const MEMBERS: ReadonlySet<string> = new Set(['id', 'apiUrl', 'publicUrl', 'adminUrl', 'opsUrl']);

/**
 * CONSOLE_SURFACES: a JSON list of `{"id", "apiUrl"?, "publicUrl"?, "adminUrl"?, "opsUrl"?}`. Audiences are in
 * OIDC_AUDIENCES.
 * @throws Error naming every fault by its location, without quoting values.
 */
export function parseSurfaces(text: string): Surface[] {
  const list = listOf(text, 'with a surface in it');
  const faults: string[] = [];
  const surfaces = list.map((entry, index) => surfaceOf(entry, (fault) => faults.push(`/${index}${fault}`)));
  const ids = surfaces.map(({ id }) => id);
  if (new Set(ids).size !== ids.length) faults.push('names a surface twice');
  if (faults.length > 0) throw new Error(`must be a list of surfaces: ${faults.join('; ')}`);
  return surfaces;
}

function listOf(text: string, what: string): unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('must be JSON');
  }
  if (!Array.isArray(value) || value.length === 0) throw new Error(`must be a JSON list ${what}`);
  return value;
}

type Tell = (fault: string) => void;

function surfaceOf(entry: unknown, tell: Tell): Surface {
  const given = typeof entry === 'object' && entry !== null ? (entry as Readonly<Record<string, unknown>>) : {};
  for (const name of Object.keys(given))
    if (name === 'apiAudience' || name === 'adminAudience') tell(`/${name} has moved to OIDC_AUDIENCES`);
    else if (!MEMBERS.has(name)) tell(' has a member that is none of a surface');
  const id = SURFACE_IDS.find((known) => known === given['id']);
  if (id === undefined) tell(`/id must be one of ${SURFACE_IDS.join(', ')}`);
  const of = (member: string): Listener | undefined => {
    const url = urlOf(given, member, tell);
    return url === undefined ? undefined : { url, audience: undefined };
  };
  const [api, admin] = [of('apiUrl'), of('adminUrl')];
  if (api === undefined && admin === undefined) tell(' has neither apiUrl nor adminUrl');
  const publicUrl = urlOf(given, 'publicUrl', tell) ?? api?.url;
  // The result is not used if there were faults.
  return { id: id as SurfaceId, api, admin, publicUrl, opsUrl: urlOf(given, 'opsUrl', tell) };
}

/** An entry of OIDC_AUDIENCES. */
interface SurfaceAudience {
  readonly surface: SurfaceId;
  readonly listener: 'api' | 'admin';
  readonly audience: Audience;
}

const AUDIENCE_MEMBERS: ReadonlySet<string> = new Set(['surface', 'listener', 'resource', 'scope']);
const MAX_AUDIENCE_CHARACTERS = 512;

/**
 * OIDC_AUDIENCES: a JSON list of `{"surface", "listener", "resource" or "scope"}`.
 * @throws Error naming every fault by its location, without quoting values.
 */
export function parseAudiences(text: string): SurfaceAudience[] {
  const faults: string[] = [];
  const found = listOf(text, 'with an audience in it').map((entry, index) =>
    surfaceAudienceOf(entry, (fault) => faults.push(`/${index}${fault}`)),
  );
  const listeners = found.map(({ surface, listener }) => `${surface} ${listener}`);
  if (new Set(listeners).size !== listeners.length) faults.push('names a listener twice');
  if (faults.length > 0) throw new Error(`must be a list of audiences: ${faults.join('; ')}`);
  return found;
}

function surfaceAudienceOf(entry: unknown, tell: Tell): SurfaceAudience {
  const given = typeof entry === 'object' && entry !== null ? (entry as Readonly<Record<string, unknown>>) : {};
  const { listener, resource, scope } = given;
  if (Object.keys(given).some((name) => !AUDIENCE_MEMBERS.has(name))) tell(' has a member that is none of an audience');
  const surface = SURFACE_IDS.find((known) => known === given['surface']);
  if (surface === undefined) tell(`/surface must be one of ${SURFACE_IDS.join(', ')}`);
  if (listener !== 'api' && listener !== 'admin') tell('/listener must be api or admin');
  if ((resource === undefined) === (scope === undefined)) tell(' must have either resource or scope');
  if (resource !== undefined && !isResource(resource)) tell('/resource must be a URI without fragment');
  if (scope !== undefined && !isScope(scope)) tell('/scope must be scopes separated by single spaces');
  const audience =
    resource === undefined ? ({ by: 'scope', value: scope } as const) : { by: 'resource', value: resource };
  // The result is not used if there were faults.
  return { surface, listener, audience } as SurfaceAudience;
}

/** RFC 8707, section 2: an absolute URI without fragment. */
const isResource = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= MAX_AUDIENCE_CHARACTERS && URL.canParse(value) && !value.includes('#');

/** RFC 6749, section 3.3. */
const isScope = (value: unknown): boolean =>
  typeof value === 'string' &&
  value.length <= MAX_AUDIENCE_CHARACTERS &&
  /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(value);

/** The surfaces with the audiences of their listeners. */
export const withAudiences = (surfaces: readonly Surface[], audiences: readonly SurfaceAudience[]): Surface[] =>
  surfaces.map((surface) => {
    const of = (listener: 'api' | 'admin'): Listener | undefined => {
      const found = audiences.find((one) => one.surface === surface.id && one.listener === listener);
      const { [listener]: plain } = surface;
      return plain && found ? { ...plain, audience: found.audience } : plain;
    };
    return { ...surface, api: of('api'), admin: of('admin') };
  });

/** Audiences of listeners that are not configured. */
export const audienceFaults = (surfaces: readonly Surface[], audiences: readonly SurfaceAudience[]): string[] =>
  audiences.flatMap(({ surface, listener }, index) =>
    surfaces.find(({ id }) => id === surface)?.[listener] === undefined
      ? [`OIDC_AUDIENCES: /${index} names a listener that CONSOLE_SURFACES has no URL of`]
      : [],
  );

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

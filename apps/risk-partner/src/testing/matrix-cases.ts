import type { HttpCaller } from './http-caller.ts';
import { isGranted, isVisible, ROW_CLASSES, type MatrixCaller, type RowClass } from './permission-matrix.ts';
import { callTool } from './http-caller.ts';

export const FILTERED = { risk: 'risks', evidence: 'evidence', asset: 'assets' } as const;
export const OPEN = { control: 'controls', policy: 'policies' } as const;
/** One call and its expected status. `ids`: what a list must contain, in any order. */
export interface Case {
  readonly what: string;
  readonly call: (key: string | undefined) => Promise<{ status: number; text: string; ids?: readonly string[] }>;
  readonly status: number;
  readonly ids?: readonly string[];
}

/** The inputs for the cases of one caller. */
interface CaseOptions {
  readonly api: HttpCaller;
  readonly caller: MatrixCaller;
  /** Ids by `rowKey`, or by kind for kinds that are not filtered. */
  readonly rows: ReadonlyMap<string, string>;
  /** Ids of another organisation, by kind. */
  readonly foreign: ReadonlyMap<string, string>;
}

export const rowKey = (kind: string, rowClass: string) => `${kind} ${rowClass}`;

const idsOf = (rows: unknown): string[] => (rows as { id: string }[]).map(({ id }) => id);
const MISSING = 'rsk_00000000000000000000000000000000';

/** All cases of one caller. */
export function casesOf(options: CaseOptions): Case[] {
  return [
    ...partnerCases(options),
    ...dashboardCases(options),
    ...peopleCases(options),
    ...toolCases(options),
    ...otherCases(options),
  ];
}

const classes = Object.keys(ROW_CLASSES) as RowClass[];

/** Cases of one kind: each class of rows, a row of another organisation, and a missing one. */
function targets(kind: string, { caller, rows, foreign }: CaseOptions) {
  const gone = [
    { what: 'of another organisation', id: foreign.get(kind)!, seen: false },
    { what: 'not there', id: MISSING, seen: false },
  ];
  if (!(kind in FILTERED)) return [{ what: 'there', id: rows.get(kind)!, seen: true }, ...gone];
  return [
    ...classes.map((rowClass) => ({
      what: rowClass,
      id: rows.get(rowKey(kind, rowClass))!,
      seen: isVisible(caller, rowClass),
    })),
    ...gone,
  ];
}

/** The rows of a filtered kind that the caller sees, of the shared rows and of their own. */
function visibleIds(kind: string, { caller, rows }: CaseOptions): string[] {
  return classes.filter((rowClass) => isVisible(caller, rowClass)).map((rowClass) => rows.get(rowKey(kind, rowClass))!);
}

async function walk(
  api: HttpCaller,
  path: string,
  { key, itemsOf }: { readonly key: string | undefined; readonly itemsOf: (json: unknown) => unknown },
) {
  let next: string | undefined = `${path}?limit=200`;
  const ids: string[] = [];
  for (;;) {
    const answer = await api.get(next, key);
    if (answer.status !== 200) return { status: answer.status, text: answer.text };
    ids.push(...idsOf(itemsOf(answer.json)));
    const link = /<([^>]+)>; rel="next"/.exec(String(answer.headers['link'] ?? ''))?.[1];
    const cursor = (answer.json as { pagination?: { nextCursor: string | null } }).pagination?.nextCursor;
    next = link ?? (cursor ? `${path}?limit=200&cursor=${cursor}` : undefined);
    if (next === undefined) return { status: 200, text: '', ids };
  }
}

type More = { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> };

const sender =
  (api: HttpCaller) =>
  (method: string, path: string, more: More = {}) => {
    const headers = { 'x-request-id': 'same', ...more.headers };
    return (key: string | undefined) => api.send(method, path, { ...more, ...(key && { key }), headers });
  };

function partnerCases(options: CaseOptions): Case[] {
  const { api, caller } = options;
  const sent = sender(api);
  const may = isGranted(caller, 'v1', 'r');
  const list = (collection: string, kind?: string): Case => ({
    what: `list /api/v1/${collection}`,
    status: may ? 200 : 403,
    call: (key) => walk(api, `/api/v1/${collection}`, { key, itemsOf: (json) => (json as { items: unknown }).items }),
    ...(may && kind !== undefined && { ids: visibleIds(kind, options) }),
  });
  const items = (collection: string, kind: string): Case[] =>
    targets(kind, options).map(({ what, id, seen }) => ({
      what: `/api/v1/${collection} ${what}`,
      status: !may ? 403 : seen ? 200 : 404,
      call: sent('GET', `/api/v1/${collection}/${id}`),
    }));
  return [
    ...Object.entries(FILTERED).flatMap(([kind, collection]) => [list(collection, kind), ...items(collection, kind)]),
    ...Object.entries({ ...OPEN, framework: 'frameworks' }).flatMap(([kind, collection]) => [
      list(collection),
      ...items(collection, kind),
    ]),
    ...['coverage', 'proofs', 'snapshots'].map((collection) => list(collection)),
    ...['coverage', 'proofs', 'snapshots'].map((collection) => ({
      what: `/api/v1/${collection} that is not there`,
      status: may ? 404 : 403,
      call: sent('GET', `/api/v1/${collection}/${MISSING}`),
    })),
  ];
}

function dashboardCases(options: CaseOptions): Case[] {
  const { api, caller } = options;
  const sent = sender(api);
  const stale = { headers: { 'if-match': '"999"' } };
  return Object.entries({ ...FILTERED, ...OPEN }).flatMap(([kind, collection]) => {
    const path = `/api/${collection}`;
    const may = (letter: string) => isGranted(caller, kind, letter);
    const mayList = kind === 'policy' ? isGranted(caller, 'policyMetadata', 'r') : may('r');
    const one = (what: string, id: string, seen: boolean): Case[] => [
      { what: `GET ${path} ${what}`, status: !may('r') ? 403 : seen ? 200 : 404, call: sent('GET', `${path}/${id}`) },
      {
        what: `PATCH ${path} ${what}`,
        status: !may('u') ? 403 : seen ? 412 : 404,
        call: sent('PATCH', `${path}/${id}`, { ...stale, body: {} }),
      },
      {
        what: `DELETE ${path} ${what}`,
        status: !may('d') ? 403 : seen ? 412 : 404,
        call: sent('DELETE', `${path}/${id}`, stale),
      },
      ...(kind !== 'evidence'
        ? []
        : [
            {
              what: `transition of ${what}`,
              status: !may('u') ? 403 : seen ? 409 : 404,
              call: sent('POST', `${path}/${id}/transitions`, { body: { to: 'superseded' } }),
            },
          ]),
    ];
    return [
      {
        what: `list ${path}`,
        status: mayList ? 200 : 403,
        call: (key) => walk(api, path, { key, itemsOf: (json) => json }),
        ...(mayList && kind in FILTERED && { ids: visibleIds(kind, options) }),
      },
      // A 400 for the body shows that permission was granted, without changing anything.
      { what: `POST ${path}`, status: may('c') ? 400 : 403, call: sent('POST', path, { body: { unknown: true } }) },
      ...targets(kind, options).flatMap(({ what, id, seen }) => one(what, id, seen)),
    ];
  });
}

/** `rows` has a person without roles as `member`: to set none changes nothing. */
function peopleCases(options: CaseOptions): Case[] {
  const { api, caller } = options;
  const sent = sender(api);
  const path = '/api/people';
  const may = (letter: string) => isGranted(caller, 'member', letter);
  const changes = { roles: { roles: [] }, scope: {} };
  const people = targets('member', options).flatMap(({ what, id, seen }): Case[] => [
    { what: `GET ${path} ${what}`, status: !may('r') ? 403 : seen ? 200 : 404, call: sent('GET', `${path}/${id}`) },
    ...Object.entries(changes).map(([name, body]) => ({
      what: `PUT ${path} ${name} ${what}`,
      status: !may('u') ? 403 : seen ? 200 : 404,
      call: sent('PUT', `${path}/${id}/${name}`, { body }),
    })),
    // Removed by nobody, as others still read it.
    ...(seen && may('d')
      ? []
      : [{ what: `DELETE ${path} ${what}`, status: may('d') ? 404 : 403, call: sent('DELETE', `${path}/${id}`) }]),
  ]);
  const invitations = `${path}/invitations`;
  return [
    { what: `list ${path}`, status: may('r') ? 200 : 403, call: sent('GET', path) },
    {
      what: `export ${path}`,
      status: may('e') ? 200 : 403,
      call: sent('HEAD', `${path}/export?format=csv`),
    },
    ...people,
    { what: `list ${invitations}`, status: may('r') ? 200 : 403, call: sent('GET', invitations) },
    { what: 'invite', status: may('c') ? 400 : 403, call: sent('POST', invitations, { body: { unknown: true } }) },
    { what: 'no invitation', status: may('r') ? 404 : 403, call: sent('GET', `${invitations}/inv_none`) },
    { what: 'delete none', status: may('d') ? 404 : 403, call: sent('DELETE', `${invitations}/inv_none`) },
  ];
}

function toolCases(options: CaseOptions): Case[] {
  const { api, caller } = options;
  const may = isGranted(caller, 'v1', 'r');
  const tool = (name: string, status: number, args: object = {}, ids?: readonly string[]): Case => ({
    what: `tool ${name} ${JSON.stringify(args)}`,
    status,
    call: async (key) => {
      const answer = await callTool(api, key, name, { ...args });
      const items = answer.content['items'];
      const text = JSON.stringify({ ...answer.content, instance: 'same' });
      return { status: answer.status, text, ...(items === undefined ? {} : { ids: idsOf(items) }) };
    },
    ...(ids && { ids }),
  });
  const lists = ['list_controls', 'list_policies', 'get_coverage', 'list_proofs', 'list_frameworks'];
  return [
    ...lists.map((name) => tool(name, may ? 200 : 403)),
    ...Object.entries(FILTERED).flatMap(([kind, collection]) => [
      tool(`list_${collection}`, may ? 200 : 403, { limit: 1 }),
      ...targets(kind, options).map(({ id, seen }) => tool(`get_${kind}`, !may ? 403 : seen ? 200 : 404, { id })),
    ]),
    tool('verify_envelope', caller.roles.length > 0 ? 200 : 403, { envelope: {} }),
    tool('whoami', 200),
  ];
}

function otherCases({ api, caller }: CaseOptions): Case[] {
  const sent = sender(api);
  const key = (letter: string) => isGranted(caller, 'apiKey', letter);
  const readsForPartners = caller.roles.length > 0 && caller.roles.every((role) => role === 'partner_read');
  return [
    { what: 'audit', status: isGranted(caller, 'audit', 'r') ? 200 : 403, call: sent('GET', '/api/audit') },
    { what: 'list keys', status: key('r') ? 200 : 403, call: sent('GET', '/api/api-keys') },
    { what: 'mint', status: key('c') ? 400 : 403, call: sent('POST', '/api/api-keys', { body: { label: ' ' } }) },
    { what: 'revoke', status: key('d') ? 404 : 403, call: sent('DELETE', '/api/api-keys/key_none') },
    { what: 'whoami', status: 200, call: sent('GET', '/api/v1/whoami') },
    { what: 'dashboard whoami', status: readsForPartners ? 403 : 200, call: sent('GET', '/api/whoami') },
  ];
}

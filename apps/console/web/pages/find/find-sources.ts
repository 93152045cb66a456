import type { Schemas } from '@sealgate/client';
import { listed, server, type Paths } from '../../shell/api.ts';
import { formatMoment } from '../../shell/formats.ts';
import type { Mine } from '../../shell/mine.ts';
import { partsOf } from '../../shell/parts.ts';
import { CASE_PAGES } from '../cases/case-pages.ts';
import { inOrganization } from '../risks/risk-api.ts';
import { RISK_PAGES } from '../risks/risk-pages.ts';
import * as texts from './texts.ts';

/** Something found, and its page. */
export interface Hit {
  readonly id: string;
  readonly title: string;
  readonly detail?: string | undefined;
  readonly to: string;
}

/** One list of a surface that is asked for the words; a surface that refuses or is down has none. */
export interface FindSource {
  readonly group: string;
  /** Whether it is asked for these words. */
  readonly takes: (words: string) => boolean;
  /** At most one more than is shown. */
  readonly ask: (words: string, signal: AbortSignal) => Promise<readonly Hit[]>;
  /** The list with all that these words find, if there is one. */
  readonly all?: (words: string) => string;
}

/** What the person has: only this is asked. */
export interface Reach {
  readonly mine: Mine;
  /** The organisation to search in, with the person's permissions in it. */
  readonly organization: { readonly id: string; readonly permissions: readonly string[] } | undefined;
  readonly environment: string;
}

/** This many of a kind are shown, and one more is asked for, which tells that there are more. */
export const SHOWN = 5;
const LIMIT = SHOWN + 1;
const PUBLIC_RISKS = '/api/risk-partner/api';
const CASES = '/admin/case-gate/admin/v1';
const GATEWAY = '/admin/ingest-gateway/admin/v1';
const CHANNELS = `${GATEWAY}/ledger/channels` as const;

const always = (): boolean => true;
/** Ids are found whole, so words with spaces between them are none. */
const isId = (words: string): boolean => words.length >= 3 && !/\s/.test(words);

type Query = Readonly<Record<string, string>>;

const listOf =
  (page: string, name = 'q', more: Query = {}) =>
  (words: string): string =>
    `${page}?${new URLSearchParams({ ...more, [name]: words })}`;

/** The first rows of a list. */
async function itemsOf<Path extends keyof Paths>(
  path: Path,
  init: Parameters<typeof listed<Path>>[1],
  signal: AbortSignal,
) {
  const pages = listed(path, { limit: LIMIT, ...init });
  return (await pages({}).queryFn({ signal })).items;
}

export const sourcesOf = (reach: Reach): readonly FindSource[] => [
  pagesOf(reach),
  ...riskSources(reach),
  ...caseSources(reach),
  ...gatewaySources(reach),
];

/** Pages by their titles; nobody is asked. */
function pagesOf({ mine, organization, environment }: Reach): FindSource {
  const all: Hit[] = partsOf(mine, true).map(({ path, title }) => ({ id: path, title, to: `/${path}` }));
  const org = organization;
  if (org !== undefined && mine.offers('risks'))
    for (const { path, title, needs } of RISK_PAGES)
      if (needs.length === 0 || needs.some((permission) => org.permissions.includes(permission)))
        all.push({
          id: `risks/${path}`,
          title,
          detail: texts.risks,
          to: `/risks/${encodeURIComponent(org.id)}/${path}`,
        });
  if (mine.offers('cases'))
    for (const { path, title, needs } of CASE_PAGES)
      if (mine.admin('case-gate', needs))
        all.push({ id: `cases/${path}`, title, detail: texts.cases, to: `/cases/${environment}/${path}` });
  return {
    group: texts.pages,
    takes: always,
    ask: (words) => Promise.resolve(all.filter((page) => hasWords(page, words)).slice(0, LIMIT)),
  };
}

function hasWords({ title, detail = '' }: Hit, words: string): boolean {
  const text = `${title} ${detail}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

const RECORDS = [
  { group: texts.risks, path: 'risks', page: 'register', needs: ['risk:read'] },
  { group: texts.evidence, path: 'evidence', page: 'evidence', needs: ['evidence:read'] },
  { group: texts.controls, path: 'controls', page: 'controls', needs: ['control:read'] },
  { group: texts.assets, path: 'assets', page: 'assets', needs: ['asset:read'] },
  { group: texts.policies, path: 'policies', page: 'policies', needs: ['policy:read', 'policyMetadata:read'] },
] as const;

function riskSources({ mine, organization }: Reach): FindSource[] {
  if (organization === undefined || !mine.offers('risks')) return [];
  const { id: orgId, permissions } = organization;
  const inOrg = inOrganization(orgId);
  const to = (page: string): string => `/risks/${encodeURIComponent(orgId)}/${page}`;
  const records = RECORDS.filter(({ needs }) => needs.some((permission) => permissions.includes(permission))).map(
    ({ group, path, page }): FindSource => ({
      group,
      takes: always,
      all: listOf(to(page)),
      async ask(q, signal) {
        const rows = await itemsOf(`${PUBLIC_RISKS}/${path}`, { ...inOrg, query: { q } }, signal);
        return rows.map((row) => ({
          id: row.id,
          title: 'title' in row ? row.title : row.name,
          detail: ('refId' in row && row.refId) || undefined,
          to: to(`${page}/${encodeURIComponent(row.id)}`),
        }));
      },
    }),
  );
  const people: FindSource = {
    group: texts.people,
    takes: always,
    all: listOf(to('people')),
    async ask(q, signal) {
      const rows = await itemsOf(`${PUBLIC_RISKS}/people`, { ...inOrg, query: { q } }, signal);
      return rows.map(({ id, name }) => ({
        id,
        title: name,
        to: `${to('people')}?${new URLSearchParams({ q: id })}`,
      }));
    },
  };
  // The keys of one person are few, and their list has no search.
  const keys: FindSource = {
    group: texts.yourKeys,
    takes: isId,
    async ask(words, signal) {
      const rows = await itemsOf(`${PUBLIC_RISKS}/api-keys`, { ...inOrg, limit: 200 }, signal);
      return rows
        .filter(({ label, keyPrefix, id }) =>
          hasWords({ id, title: label, detail: `${keyPrefix} ${id}`, to: '' }, words),
        )
        .slice(0, LIMIT)
        .map(({ id, label, keyPrefix }) => ({ id, title: label, detail: keyPrefix, to: to('keys') }));
    },
  };
  return [
    ...records,
    ...(permissions.includes('member:read') ? [people] : []),
    ...(permissions.includes('apiKey:read') ? [keys] : []),
  ];
}

function caseSources({ mine, environment }: Reach): FindSource[] {
  const named = (q: string) => ({ query: { q, environment } });
  const to = (page: string): string => `/cases/${environment}/${page}`;
  const cases: FindSource = {
    group: texts.cases,
    takes: always,
    all: listOf(to('queue'), 'q', { status: 'all' }),
    ask: async (q, signal) =>
      (await itemsOf(`${CASES}/cases`, named(q), signal)).map(({ case_id, external_ref, subject_ref }) => ({
        id: case_id,
        title: external_ref ?? case_id,
        detail: subject_ref,
        to: to(`queue/${case_id}`),
      })),
  };
  const subjects: FindSource = {
    group: texts.subjects,
    takes: always,
    all: listOf(to('subjects')),
    ask: async (q, signal) =>
      (await itemsOf(`${CASES}/subjects`, named(q), signal)).map(({ subject_ref, status }) => ({
        id: subject_ref,
        title: subject_ref,
        detail: status,
        to: to(`subjects/${encodeURIComponent(subject_ref)}`),
      })),
  };
  const policies: FindSource = {
    group: texts.policiesOfTheGate,
    takes: always,
    all: listOf(to('policies')),
    ask: async (q, signal) =>
      (await itemsOf(`${CASES}/policies`, named(q), signal)).map(({ policy_version, status }) => ({
        id: policy_version,
        title: policy_version,
        detail: status,
        to: to(`policies/${encodeURIComponent(policy_version)}`),
      })),
  };
  const keys: FindSource = {
    group: texts.gateKeys,
    takes: always,
    ask: async (q, signal) =>
      (await itemsOf(`${CASES}/keys`, named(q), signal)).map(({ id, label, keyPrefix }) => ({
        id,
        title: label,
        detail: keyPrefix,
        to: to('gate-keys'),
      })),
  };
  const may = (permission: string): boolean => mine.admin('case-gate', permission);
  return [
    ...(may('cases:read') ? [cases] : []),
    ...(may('policies:read') ? [policies] : []),
    ...(may('admin:read') ? [subjects, keys] : []),
  ];
}

type Gateway = Schemas['ingestGatewayAdmin'];

/** Networks by words; events, records and deliveries by their whole ids; keys of the first networks by words. */
function gatewaySources({ mine }: Reach): FindSource[] {
  if (!mine.admin('ingest-gateway', 'admin:read')) return [];
  const eventsBy = (query: { readonly eventId: string } | { readonly deliveryId: string }, signal: AbortSignal) =>
    itemsOf(`${GATEWAY}/events`, { query }, signal);
  const asHit = ({ eventId, at, networkId }: Gateway['IngestEvent']): Hit => ({
    id: eventId,
    title: eventId,
    detail: `${networkId}, ${formatMoment(new Date(at))}`,
    to: `/events/${encodeURIComponent(eventId)}`,
  });
  return [
    {
      group: texts.networks,
      takes: always,
      all: listOf('/networks'),
      ask: async (q, signal) =>
        (await itemsOf(`${GATEWAY}/networks`, { query: { q } }, signal)).map(({ networkId, name }) => ({
          id: networkId,
          title: name ?? networkId,
          detail: networkId,
          to: `/networks/${networkId}`,
        })),
    },
    {
      group: texts.events,
      takes: (words) => isId(words) && words.startsWith('evt_'),
      ask: async (eventId, signal) => (await eventsBy({ eventId }, signal)).map(asHit),
    },
    { group: texts.records, takes: isId, ask: (recordId, signal) => recordsBy(recordId, signal) },
    {
      group: texts.deliveries,
      takes: isId,
      all: listOf('/events', 'deliveryId'),
      ask: async (deliveryId, signal) => (await eventsBy({ deliveryId }, signal)).map(asHit),
    },
    {
      group: texts.refusedDeliveries,
      takes: isId,
      all: listOf('/events/refused', 'deliveryId'),
      ask: (deliveryId, signal) => refusedBy(deliveryId, signal),
    },
    { group: texts.keys, takes: isId, ask: (words, signal) => keysBy(words, signal) },
  ];
}

/** Events of every channel name their records; of a record whose event is gone, some channels are asked. */
async function recordsBy(recordId: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const events = await itemsOf(`${GATEWAY}/events`, { query: { recordId } }, signal);
  const known = events.flatMap(({ records }) => records.filter(({ id }) => id === recordId));
  const channels = known.length > 0 ? known : await itemsOf(CHANNELS, { limit: 8 }, signal);
  const found = await Promise.all(
    [...new Set(channels.map(({ channel }) => channel))].map(async (channel) => {
      const [inUrl, idInUrl] = [encodeURIComponent(channel), encodeURIComponent(recordId)];
      const params = { path: { channel, recordId } };
      const isThere = await server.GET(`${CHANNELS}/{channel}/records/{recordId}`, { params, signal }).then(
        () => true,
        () => false,
      );
      const to = `/ledger/${inUrl}/${idInUrl}?by=ingest-gateway`;
      return isThere ? [{ id: `${channel}/${recordId}`, title: recordId, detail: channel, to }] : [];
    }),
  );
  return found.flat();
}

async function refusedBy(deliveryId: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const rows = await itemsOf(`${GATEWAY}/refused`, { query: { deliveryId } }, signal);
  return rows.map((row) => ({
    id: row.refusedId,
    title: deliveryId,
    detail: `${row.code}, ${formatMoment(new Date(row.at))}`,
    to: `/networks/${row.networkId}/sources/${row.sourceId}/deliveries/${row.refusedId}`,
  }));
}

/** A key belongs to one network, and there is no list over all of them: some networks are asked at a time. */
const ASKED_AT_ONCE = 8;
const MAX_NETWORKS = 200;
/** Every network is asked for what is a prefix or id of a key, the newest ones for other words. */
const IS_OF_KEY = /^(ingest_|key_)/;

async function keysBy(q: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const most = IS_OF_KEY.test(q) ? MAX_NETWORKS : ASKED_AT_ONCE;
  const networks = await itemsOf(`${GATEWAY}/networks`, { limit: most }, signal);
  const found: Hit[] = [];
  for (let from = 0; from < networks.length && found.length < LIMIT; from += ASKED_AT_ONCE) {
    signal.throwIfAborted();
    const asked = networks.slice(from, from + ASKED_AT_ONCE).map(({ networkId }) => keysOf(networkId, q, signal));
    found.push(...(await Promise.all(asked)).flat());
  }
  return found.slice(0, LIMIT);
}

async function keysOf(networkId: string, q: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const keys = await itemsOf(`${GATEWAY}/networks/{networkId}/keys`, { path: { networkId }, query: { q } }, signal);
  return keys.map(({ id, label, keyPrefix }) => ({
    id,
    title: label,
    detail: `${keyPrefix}, ${networkId}`,
    to: `/networks/${networkId}`,
  }));
}

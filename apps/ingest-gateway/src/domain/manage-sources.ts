import { randomBytes } from 'node:crypto';
import { AppError, refusedMember, type Fault } from '@sealgate/errors';
import type { TableList } from '@sealgate/paging';
import type { Also } from './manage-networks.ts';
import { SCHEMES } from './schemes/schemes.ts';
import { keyKindOf } from './schemes/signature.ts';
import { checkSettings, settingsAfter } from './source-settings.ts';
import type { GivenSecret, KeptSecret, SettingsChange, Source, SourceSettings } from './source.ts';

/** What is asked of a new source, its settings already completed. */
export interface NewSource extends Pick<Source, 'networkId' | 'name' | 'scheme' | 'settings' | 'enabled'> {
  readonly secrets: readonly GivenSecret[];
}

export interface SourceChange extends Partial<Pick<Source, 'name' | 'enabled'>> {
  readonly settings: SettingsChange;
  readonly secrets?: readonly GivenSecret[];
}

export interface SourceStore {
  /** `limit reached` where the network has MAX_SOURCES; `missing` where the network does not exist. */
  insert(source: Source, also: Also): Promise<'made' | 'missing' | 'limit reached'>;
  find(networkId: string, sourceId: string): Promise<Source | undefined>;
  readonly list: TableList<{ readonly networkId: string }, Source, 'createdAt' | 'changedAt' | 'name'>;
  /** `change` receives the locked row. Undefined where there is none. */
  update(
    networkId: string,
    sourceId: string,
    steps: { change: (source: Source) => Source; also: Also },
  ): Promise<Source | undefined>;
  delete(
    networkId: string,
    sourceId: string,
    steps: { at: Date; also: Also },
  ): Promise<'deleted' | 'already' | 'missing'>;
}

export const MAX_SOURCES = 200;

export interface ManageSourcesPorts {
  readonly sources: SourceStore;
  /** Names of the channels of a network; undefined where the network does not exist. */
  readonly channelsOf: (networkId: string) => Promise<readonly string[] | undefined>;
  /** Encrypts a secret; it can be decrypted for this source id only. */
  readonly seal: (value: string, sourceId: string) => string;
  /** Whether this process knows the URL that senders post to, which some of them sign. */
  readonly hasPublicUrl: boolean;
  /** The largest `maxBytes` on this ledger. */
  readonly mostBytes: number;
  readonly now: () => number;
}

/**
 * @throws AppError INVALID_REQUEST with every fault, NOT_FOUND, UNKNOWN_CHANNEL, LIMIT_REACHED. Nothing is created
 * then.
 */
export async function createSource(
  ports: ManageSourcesPorts,
  { secrets, ...given }: NewSource,
  also: (sourceId: string) => Also,
): Promise<Source> {
  const at = new Date(Math.floor(ports.now())).toISOString();
  const sourceId = `src_${randomBytes(16).toString('base64url')}`;
  checkSettings(given.scheme, given.settings, ports);
  checkMaxBytes(ports, given.settings);
  const kept = keepSecrets(ports, given, { sourceId, secrets, before: [], at });
  await checkChannelNames(ports, given.networkId, given.settings);
  const source: Source = { sourceId, ...given, secrets: kept, createdAt: at, changedAt: at };
  const outcome = await ports.sources.insert(source, also(sourceId));
  if (outcome === 'missing') throw noNetwork();
  if (outcome === 'limit reached')
    throw new AppError('LIMIT_REACHED', `There are ${MAX_SOURCES} sources; delete one first.`);
  return source;
}

/** @throws AppError INVALID_REQUEST with every fault, NOT_FOUND, UNKNOWN_CHANNEL. Nothing is changed then. */
export async function changeSource(
  ports: ManageSourcesPorts,
  { networkId, sourceId }: { readonly networkId: string; readonly sourceId: string },
  { change, also }: { readonly change: SourceChange; readonly also: Also },
): Promise<Source> {
  const channels = change.settings.channels ?? undefined;
  await checkChannelNames(ports, networkId, channels === undefined ? {} : { channels });
  const changed = await ports.sources.update(networkId, sourceId, {
    also,
    change(source) {
      const at = new Date(Math.floor(ports.now())).toISOString();
      const settings = settingsAfter(source.settings, change.settings);
      checkSettings(source.scheme, settings, ports);
      checkMaxBytes(ports, settings);
      // Kept secrets of another form would verify nothing, and they cannot be read here.
      const isOtherKind = keyKindOf(settings.signature) !== keyKindOf(source.settings.signature);
      const before = isOtherKind ? [] : source.secrets;
      const { secrets = isOtherKind ? source.secrets.map(({ id }) => ({ id })) : undefined } = change;
      const { scheme } = source;
      const kept =
        secrets === undefined
          ? source.secrets
          : keepSecrets(ports, { scheme, settings }, { sourceId, secrets, before, at });
      const { name = source.name, enabled = source.enabled } = change;
      return { ...source, name, enabled, settings, secrets: kept, changedAt: at };
    },
  });
  if (changed === undefined) throw noSource();
  return changed;
}

/** @throws AppError NOT_FOUND. */
export async function findSource(
  { sources }: Pick<ManageSourcesPorts, 'sources'>,
  networkId: string,
  sourceId: string,
): Promise<Source> {
  const source = await sources.find(networkId, sourceId);
  if (source === undefined) throw noSource();
  return source;
}

/** Deletes a source and its secrets. Idempotent. @throws AppError NOT_FOUND when it never existed. */
export async function deleteSource(
  { sources, now }: ManageSourcesPorts,
  { networkId, sourceId }: { readonly networkId: string; readonly sourceId: string },
  also: Also,
): Promise<void> {
  const outcome = await sources.delete(networkId, sourceId, { at: new Date(Math.floor(now())), also });
  if (outcome === 'missing') throw noSource();
}

interface Keeping {
  readonly sourceId: string;
  readonly secrets: readonly GivenSecret[];
  readonly before: readonly KeptSecret[];
  readonly at: string;
}

function keepSecrets(
  { seal }: Pick<ManageSourcesPorts, 'seal'>,
  { scheme, settings }: Pick<Source, 'scheme' | 'settings'>,
  { sourceId, secrets, before, at }: Keeping,
): KeptSecret[] {
  const faults: Fault[] = [];
  const fault = (pointer: string, detail: string) => faults.push({ in: 'body', pointer, detail });
  const kept = secrets.flatMap(({ id, value }, position): KeptSecret[] => {
    const place = `/secrets/${position}`;
    if (secrets.findIndex((one) => one.id === id) < position)
      fault(`${place}/id`, 'The id occurs in this list already.');
    if (value === undefined) {
      const known = before.find((one) => one.id === id);
      if (known === undefined)
        fault(`${place}/value`, 'The source has no secret of this id and form, so it needs a value.');
      return known === undefined ? [] : [known];
    }
    const { readKey, secretForm } = SCHEMES[scheme];
    const blank = blankEndOf(value);
    const key = readKey(value, settings);
    if (blank !== undefined || key === undefined) {
      fault(`${place}/value`, blank ?? `A secret of this scheme is ${secretForm(settings)}.`);
      return [];
    }
    const sealed = seal(value, sourceId);
    return [{ id, sealed, createdAt: at, isPublic: key.type === 'public' }];
  });
  if (faults.length > 0) throw invalid(faults);
  return kept;
}

/** White space that came along when the secret was copied: the sender signs without it. */
function blankEndOf(value: string): string | undefined {
  const places = [...(/^\s/.test(value) ? ['beginning'] : []), ...(/\s$/.test(value) ? ['end'] : [])];
  return places.length === 0
    ? undefined
    : `The secret has white space (such as a space or a line break) at its ${places.join(' and its ')}; remove it.`;
}

function checkMaxBytes({ mostBytes }: ManageSourcesPorts, { maxBytes = 0 }: SourceSettings): void {
  if (maxBytes <= mostBytes) return;
  throw invalid([
    { in: 'body', pointer: '/maxBytes', detail: `On this ledger a body has at most ${mostBytes} bytes.` },
  ]);
}

async function checkChannelNames(
  { channelsOf }: ManageSourcesPorts,
  networkId: string,
  { channels = [] }: SourceSettings,
): Promise<void> {
  const known = await channelsOf(networkId);
  if (known === undefined) throw noNetwork();
  const index = channels.findIndex((name) => !known.includes(name));
  if (index >= 0) throw refusedMember('UNKNOWN_CHANNEL', `/channels/${index}`, 'The network has no such channel.');
}

function invalid(faults: readonly Fault[]): AppError {
  return new AppError('INVALID_REQUEST', 'The source is not valid.', { faults });
}

const noNetwork = () => new AppError('NOT_FOUND', 'There is no such network.');
const noSource = () => new AppError('NOT_FOUND', 'There is no such source.');

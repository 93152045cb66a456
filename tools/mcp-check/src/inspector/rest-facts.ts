import type { SurfaceTarget } from '../surface-target.ts';
import { UserError } from '../user-error.ts';

type Json = Readonly<Record<string, unknown>>;

/** A page or an item as REST shows it to the same key. */
export interface RestAnswer {
  readonly body: Json;
  /** The value of Evidence-Signature. */
  readonly signature: string;
}

/** What REST says, so that tools can be held against it. */
export interface RestFacts {
  /** The first page of each list, by collection. */
  readonly pages: ReadonlyMap<string, RestAnswer>;
  /** The first item of each list that has a tool of its own, by collection. */
  readonly items: ReadonlyMap<string, RestAnswer>;
  readonly secondRisks: RestAnswer;
  readonly whoami: Json;
}

export const PAGE_LIMIT = 2;
export const LISTED = [
  'risks',
  'assets',
  'evidence',
  'controls',
  'policies',
  'coverage',
  'proofs',
  'frameworks',
] as const;
export const WITH_ITEM = ['risks', 'assets', 'evidence'] as const;

/** @throws UserError where the key may not read everything that has a tool, or there is too little to read. */
export async function restFacts(target: SurfaceTarget): Promise<RestFacts> {
  const pages = new Map<string, RestAnswer>();
  for (const name of LISTED) pages.set(name, await get(target, `/api/v1/${name}?limit=${PAGE_LIMIT}`));
  const items = new Map<string, RestAnswer>();
  for (const name of WITH_ITEM) items.set(name, await get(target, `/api/v1/${name}/${firstId(name, pages)}`));
  const cursor = cursorOf(pages.get('risks')!.body);
  if (cursor === null) throw tooLittle('more than one page of risks');
  const secondRisks = await get(target, `/api/v1/risks?limit=${PAGE_LIMIT}&cursor=${cursor}`);
  const { body: whoami } = await get(target, '/api/v1/whoami');
  return { pages, items, secondRisks, whoami };
}

export function cursorOf({ pagination }: Json): string | null {
  const { nextCursor } = pagination as { nextCursor: string | null };
  return nextCursor;
}

function firstId(name: string, pages: RestFacts['pages']): string {
  const [first] = pages.get(name)!.body['items'] as { id: string }[];
  if (first === undefined) throw tooLittle(name);
  return first.id;
}

const tooLittle = (what: string): UserError =>
  new UserError(`This key sees too little to try the tools: it needs ${what}. The data of \`npm start\` has enough.`);

const ANSWER_WITHIN_MS = 15_000;

async function get({ url, key }: SurfaceTarget, path: string): Promise<RestAnswer> {
  const response = await fetch(url + path, {
    headers: { Authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  }).catch((error: unknown) => {
    throw new UserError(`${url} gives no answer: does it run?`, { cause: error });
  });
  const text = await response.text();
  if (!response.ok) throw new UserError(`GET ${path} is answered ${response.status}: ${text.slice(0, 300)}`);
  return { body: JSON.parse(text) as Json, signature: response.headers.get('evidence-signature') ?? '' };
}

import type { Problem } from './problem.ts';

/** A refusal, thrown where it cannot be returned. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** The result of a client call for one page, of any listener. */
interface PageAnswer {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** The item type of a page. */
type ItemsOf<Data> = Data extends readonly (infer Item)[]
  ? Item
  : Data extends { readonly items: readonly (infer Item)[] }
    ? Item
    : Data extends { readonly assets: readonly (infer Item)[] }
      ? Item
      : never;

/**
 * Iterates over all items of a list; each page is fetched when its first item is requested.
 *
 * `fetchPage` is called with `{}` and then with `{ cursor }` of the previous page: spread it into the query. Throws
 * ProblemError if a page is refused, errors of `fetchPage`, and an Error if a service returns the same cursor twice.
 */
export async function* itemsOf<Answer extends PageAnswer>(
  fetchPage: (cursor: { cursor?: string }) => Promise<Answer>,
): AsyncGenerator<ItemsOf<NonNullable<Answer['data']>>> {
  let cursor: string | undefined;
  for (;;) {
    const { data, error, response } = await fetchPage(cursor === undefined ? {} : { cursor });
    if (error !== undefined || data === undefined) throw new ProblemError(error as Problem);
    const page = data as { items?: readonly unknown[]; assets?: readonly unknown[] };
    const items = Array.isArray(data) ? (data as readonly unknown[]) : (page.items ?? page.assets ?? []);
    yield* items as ItemsOf<NonNullable<Answer['data']>>[];
    const next = nextCursorOf(data, response);
    if (next === undefined) return;
    if (next === cursor) throw new Error('The list returned the cursor of the same page as its next one.');
    cursor = next;
  }
}

/** Dashboard lists are bare arrays with a Link (RFC 8288); partner envelopes have the cursor in `pagination`. */
function nextCursorOf(data: unknown, response: Response): string | undefined {
  if (Array.isArray(data)) {
    const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(response.headers.get('link') ?? '') ?? [];
    return target === undefined
      ? undefined
      : (new URL(target, 'http://relative').searchParams.get('cursor') ?? undefined);
  }
  const { nextCursor, pagination } = data as {
    nextCursor?: string | null;
    pagination?: { nextCursor?: string | null };
  };
  return nextCursor ?? pagination?.nextCursor ?? undefined;
}

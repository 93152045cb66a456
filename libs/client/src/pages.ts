import type { Problem } from './problem.ts';

/** A refusal, thrown where there is no answer to hand it back in. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title);
    this.problem = problem;
  }
}

/** What a call of a client gives for one page, whichever listener it is of. */
interface PageAnswer {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** The items of a page, where they stand in its answer. */
type ItemsOf<Data> = Data extends readonly (infer Item)[]
  ? Item
  : Data extends { readonly items: readonly (infer Item)[] }
    ? Item
    : Data extends { readonly assets: readonly (infer Item)[] }
      ? Item
      : never;

/**
 * Every item of a list, page after page; a page is fetched when its first item is asked for.
 *
 * `fetchPage` is called with `{}` and then with `{ cursor }` of the page before: spread it into the query.
 * Throws ProblemError where a page is refused, what `fetchPage` throws, and an Error where a service gives one cursor twice.
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
    if (next === cursor) throw new Error('The list names the page that it has just sent as its next one.');
    cursor = next;
  }
}

/** Lists of the dashboard are bare arrays with a Link (RFC 8288); partner envelopes keep the cursor in `pagination`. */
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

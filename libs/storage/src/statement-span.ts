import { failureType, type Span, type SpanStart } from '@sealgate/observability';

/** Span name per the semantic conventions: operation and target. Parameters and statement texts are never exported. */
export function statementSpan(query: unknown): SpanStart {
  const text = textOf(query);
  let summary = summaries.get(text);
  if (summary === undefined) {
    summary = summaryOf(text);
    // Statement texts are constants, except Prisma's, of which there is one per combination of filters.
    if (summaries.size < MAX_SUMMARIES) summaries.set(text, summary);
  }
  const { operation, target } = summary;
  return {
    name: target === undefined ? operation : `${operation} ${target}`,
    kind: 'client',
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      ...(target === undefined ? {} : { 'db.query.summary': `${operation} ${target}` }),
    },
  };
}

interface Summary {
  readonly operation: string;
  readonly target: string | undefined;
}

const MAX_SUMMARIES = 1_000;
const summaries = new Map<string, Summary>();

const OPERATIONS = new Set(
  'SELECT INSERT UPDATE DELETE WITH BEGIN COMMIT ROLLBACK SET CALL SAVEPOINT RELEASE LOCK'.split(' '),
);
/**
 * A table or function of one of our schemas; a schema name has two letters at least, a table alias (`e.at`) has one.
 */
const TARGET = /\b(?:FROM|INTO|UPDATE|JOIN|SELECT(?: \* FROM)?|CALL)\s+"?([a-z][a-z_]+)"?\."?([a-z][a-z0-9_]+)"?/i;

function summaryOf(text: string): Summary {
  const word = (/^[\s(]*([A-Za-z]+)/.exec(text)?.[1] ?? '').toUpperCase();
  const [, schema, name] = TARGET.exec(text) ?? [];
  return {
    operation: OPERATIONS.has(word) ? word : 'OTHER',
    target: schema === undefined || name === undefined ? undefined : `${schema}.${name}`.toLowerCase(),
  };
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const text = typeof query === 'object' && query !== null && 'text' in query ? query.text : undefined;
  return typeof text === 'string' ? text : '';
}

type Callback = (error: Error | null | undefined, result?: unknown) => void;

/**
 * Sends the query and ends the span with its answer. Takes the argument forms of pg's `query`: a `Query` with its
 * callback, arguments that end in a callback, or arguments alone, which return a promise.
 */
export function tracedQuery(span: Span, ask: (...args: unknown[]) => never, args: readonly unknown[]): never {
  const ending =
    (callback: Callback): Callback =>
    (error, result) => {
      span.end(error == null ? undefined : failureType(error));
      callback(error, result);
    };
  const [query] = args;
  const last = args.at(-1);
  if (isSubmitted(query)) {
    query.callback = ending(query.callback);
    return ask(...args);
  }
  if (typeof last === 'function') return ask(...args.slice(0, -1), ending(last as Callback));
  const answer: Promise<unknown> = ask(...args);
  answer.then(
    () => span.end(),
    (error: unknown) => span.end(failureType(error)),
  );
  return answer as never;
}

function isSubmitted(query: unknown): query is { callback: Callback } {
  return typeof query === 'object' && query !== null && 'callback' in query && typeof query.callback === 'function';
}

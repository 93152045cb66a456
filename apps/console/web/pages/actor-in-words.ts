import type { ListPage, PageAt, PageQuery } from '../shell/cursor-table.tsx';
import * as texts from './texts.ts';

/** What actors are called, by actor. */
export type Names = Readonly<Record<string, string>>;

/** What an actor of a timeline or an audit is called; itself where it is no id. */
export function actorInWords(actor: string, names: Names = {}): string {
  const name = Object.hasOwn(names, actor) ? names[actor] : undefined;
  if (actor.startsWith('key_')) return name === undefined ? texts.aKey : texts.namedKey(name);
  if (name !== undefined) return name;
  if (actor.startsWith('admin:')) return texts.operatorsToken;
  if (actor === 'system') return texts.sealgate;
  // The subject of an access token; an issuer has no fragment.
  return actor.startsWith('oidc:') ? actor.slice(actor.indexOf('#') + 1) : actor;
}

/** A page of a list, with what the actors of its rows are called. */
export type NamedPage<Row> = ListPage<Row> & { readonly names: Names };

/** The page with these names in each row. */
export const withNames = <Row extends object>({
  names,
  ...page
}: NamedPage<Row>): ListPage<Row & { names: Names }> => ({
  ...page,
  items: page.items.map((row) => ({ ...row, names })),
});

/** The pages of a list whose answer says what its actors are called, with the names in each row. */
export function named<Row extends object>(
  pages: (at: PageAt) => PageQuery<Row>,
): NoInfer<(at: PageAt) => PageQuery<Row & { names: Names }>> {
  return (at) => {
    const { queryKey, queryFn } = pages(at);
    return {
      queryKey: [...queryKey, 'named'],
      queryFn: async (context) => withNames((await queryFn(context)) as NamedPage<Row>),
    };
  };
}

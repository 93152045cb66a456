import type { ListPage } from '../shell/cursor-table.tsx';

/** What actors are called, by actor. */
export type Names = Readonly<Record<string, string>>;

/** What an actor of a timeline or an audit is called; itself where it is no id. */
export function actorInWords(actor: string, names: Names = {}): string {
  const name = Object.hasOwn(names, actor) ? names[actor] : undefined;
  if (actor.startsWith('key_')) return name === undefined ? 'A key' : `${name} (key)`;
  if (name !== undefined) return name;
  if (actor.startsWith('admin:')) return 'Operator’s token';
  if (actor === 'system') return 'Sealgate';
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

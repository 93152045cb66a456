import { placeholdersIn } from '../domain/argument-template.ts';
import { actionOf, type Mapping, type Mappings, type Target } from '../domain/mapping.ts';

interface CalledAsset {
  readonly id: string;
  readonly type: string;
}

/** A transaction as a mapping describes it. */
interface Template {
  readonly transaction: string;
  readonly arguments: readonly string[];
}

/**
 * The assets of a call of a third-party contract, by whichever client: the mapping whose write or action has this
 * transaction and these arguments names them. Undefined: none fits, or several that disagree.
 */
export function assetsOfCall(
  mappings: Mappings,
  place: Pick<Target, 'channel' | 'chaincode'>,
  call: readonly Buffer[],
): readonly CalledAsset[] | undefined {
  const [name = '', ...args] = call.map((argument) => argument.toString('utf8'));
  const found = mappings.of(place).flatMap((mapping) =>
    templatesOf(mapping.target)
      .filter(({ transaction }) => nameOf(mapping.target, transaction) === name)
      .flatMap((template) => {
        const assets = assetsIn(template.arguments, args, mapping);
        const isServed = assets?.every(({ type }) => mappings.find(type) === mapping.target);
        return isServed === true ? [JSON.stringify(assets)] : [];
      }),
  );
  const [only, ...others] = new Set(found);
  return only === undefined || others.length > 0 ? undefined : (JSON.parse(only) as CalledAsset[]);
}

/** As clients name the transaction of a contract within a chaincode. */
const nameOf = ({ contract }: Target, transaction: string): string =>
  contract === undefined ? transaction : `${contract}:${transaction}`;

function templatesOf(target: Target): Template[] {
  const { shape, transactions } = target;
  if (shape.kind === 'records') return [];
  const actions = Object.keys(shape.actions).flatMap((name) => actionOf(target, name) ?? []);
  return [{ transaction: transactions.write, arguments: shape.write }, ...actions];
}

/** Undefined: the arguments do not fit, or do not name an asset and its type. */
function assetsIn(template: readonly string[], args: readonly string[], { type }: Mapping): CalledAsset[] | undefined {
  const fits = template.length === args.length && template.every((text, at) => !isOther(text, args[at]!));
  if (!fits) return undefined;
  const valueOf = (name: string): string | undefined => {
    const at = template.indexOf(`{${name}}`);
    return at < 0 ? undefined : args[at];
  };
  const list = valueOf('assets');
  if (list !== undefined) return listedAssets(list);
  const [id, its = type.endsWith('*') ? undefined : type] = [valueOf('id'), valueOf('type')];
  return id === undefined || its === undefined ? undefined : [{ id, type: its }];
}

/** Whether a constant has another value. */
const isOther = (template: string, argument: string): boolean =>
  placeholdersIn(template).length === 0 && template !== argument;

function listedAssets(text: string): CalledAsset[] | undefined {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(list)) return undefined;
  const assets = (list as unknown[]).flatMap((one) => {
    const { id, type } = (one ?? {}) as { readonly id?: unknown; readonly type?: unknown };
    return typeof id === 'string' && typeof type === 'string' ? [{ id, type }] : [];
  });
  return assets.length === list.length ? assets : undefined;
}

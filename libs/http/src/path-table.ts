import { mountRoute, type Meters, type MountedRoute, type PathRules } from './mounted-route.ts';
import { comparePaths, pathTemplate } from './path-pattern.ts';
import type { AnyRoute } from './route.ts';
import { SchemaCompiler, type CompileTime } from './check-shape.ts';

/** All that one path answers. */
export interface PathTable {
  readonly path: string;
  /** By method in upper case. */
  readonly methods: ReadonlyMap<string, MountedRoute>;
  /** What the answer to any other method goes by: the rules, name and counters of the path. */
  readonly otherMethods: MountedRoute;
}

export interface TableOptions {
  readonly routes: readonly AnyRoute[];
  readonly metrics: Meters;
  /** Whether HEAD is answered wherever GET is. */
  readonly head: boolean;
  readonly compileSchemas?: CompileTime;
}

/**
 * One table for each path, literal segments before parameters. What does not compile is added to `faults`, so that a
 * refusal to start names everything at once.
 */
export function pathTables(options: TableOptions, faults: string[]): PathTable[] {
  const compiler = new SchemaCompiler(options.compileSchemas ?? 'at-start');
  const byPath = Map.groupBy(options.routes, (route) => route.path);
  const tables: PathTable[] = [];
  for (const path of [...byPath.keys()].sort(comparePaths)) {
    const routes = byPath.get(path) ?? [];
    const rules = rulesOf(routes, faults);
    const mount = (route: AnyRoute, method: string): MountedRoute =>
      mountRoute(route, { compiler, rules, meter: options.metrics.route(method, pathTemplate(path)) });
    const methods = new Map<string, MountedRoute>();
    for (const route of routes) {
      try {
        const method = route.method.toUpperCase();
        methods.set(method, mount(route, method));
        if (method === 'GET' && options.head) methods.set('HEAD', mount(route, 'HEAD'));
      } catch (error) {
        faults.push(`${route.operationId}: ${error instanceof Error ? error.message : 'a schema does not compile'}`);
      }
    }
    const [any] = methods.values();
    if (any === undefined) continue;
    tables.push({ path, methods, otherMethods: { ...any, meter: options.metrics.route('other', pathTemplate(path)) } });
  }
  return tables;
}

function rulesOf(routes: readonly AnyRoute[], faults: string[]): PathRules {
  const admits = new Set(routes.flatMap(({ admit }) => admit ?? []));
  const problems = new Set(routes.flatMap(({ problem }) => problem ?? []));
  if (admits.size > 1) faults.push(`${routes[0]?.path}: a path has one admit at most`);
  if (problems.size > 1) faults.push(`${routes[0]?.path}: a path has one problem at most`);
  return { admit: [...admits][0], problem: [...problems][0] };
}

const METHOD_ORDER = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** The value of Allow for a request whose path fits these tables. */
export function allowHeader(tables: readonly PathTable[]): string {
  return METHOD_ORDER.filter((method) => tables.some(({ methods }) => methods.has(method))).join(', ');
}

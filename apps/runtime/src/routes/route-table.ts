import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import { matchRoute, segmentRange, type PathSegments, type RouteParameters } from './route-matcher.js';
import { comparePrecedence, matchesAllOf, shapeOf } from './route-precedence.js';
import { parseRouteTemplate, routeIdentity, type RouteTemplate } from './route-template.js';

const authLevels = ['anonymous', 'function', 'system', 'admin'] as const;
export type AuthLevel = (typeof authLevels)[number];

/** The HTTP route of one function. */
interface HttpRoute {
  readonly definition: FunctionDefinition;
  /** With the route prefix, without leading and trailing slashes; for display. */
  readonly path: string;
  /** In upper case; undefined: all methods. */
  readonly methods: ReadonlySet<string> | undefined;
  readonly authLevel: AuthLevel;
}

export interface RouteMatch {
  readonly route: HttpRoute;
  readonly parameters: RouteParameters;
}

/** A route with its template, from which addresses are built. */
export interface TemplatedRoute extends HttpRoute {
  readonly template: RouteTemplate;
}

interface Entry extends TemplatedRoute {
  /** Position among all routes: the lowest match wins. */
  readonly rank: number;
}

interface BuiltRoutes {
  readonly table: RouteTable;
  /** Functions that are not in the table. */
  readonly problems: readonly FunctionProblem[];
  readonly warnings: readonly FunctionProblem[];
}

/** Routes that can match a number of segments, by the first segment after the prefix if it is a literal. */
interface Bucket {
  readonly byLiteral: ReadonlyMap<string, readonly Entry[]>;
  /** Routes with a parameter in that place. */
  readonly others: readonly Entry[];
}

/**
 * Finds the function for a method and a path. The most specific route wins, as in ASP.NET: literal segments before parameters,
 * parameters with constraints before those without, catch-all parameters last; among equals the first by function name.
 * Constant routes are looked up in a map; the others are indexed by number of segments and by the first segment after the
 * prefix.
 */
export class RouteTable {
  readonly routes: readonly TemplatedRoute[];
  readonly #constant = new Map<string, Entry[]>();
  readonly #bySegments: readonly Bucket[];
  /** Cache of matches without parameters, by method and raw path. */
  readonly #known = new Map<string, Map<string, RouteMatch>>();
  /** Index of the first segment after the prefix. */
  readonly #position: number;

  private constructor(entries: readonly Entry[], position: number) {
    this.routes = entries;
    this.#position = position;
    const dynamic: Entry[] = [];
    for (const entry of entries) {
      const key = constantPath(entry.template);
      if (key === undefined) dynamic.push(entry);
      else this.#constant.set(key, [...(this.#constant.get(key) ?? []), entry]);
    }
    const longest = Math.max(0, ...dynamic.map(({ template }) => template.segments.length));
    // One bucket beyond the longest template, for catch-all routes.
    this.#bySegments = Array.from({ length: longest + 2 }, (_, count) => toBucket(dynamic, count, position));
  }

  /**
   * Builds the table. Functions without an HTTP trigger are ignored; those with an invalid route become problems. There is a
   * warning for those whose requests another function gets; the control plane can still call them.
   */
  static of(
    functions: readonly FunctionDefinition[],
    options: { readonly routePrefix: string; readonly reserved?: ReadonlySet<string> },
  ): BuiltRoutes {
    const routes: TemplatedRoute[] = [];
    const problems: FunctionProblem[] = [];
    const warnings: FunctionProblem[] = [];
    for (const definition of functions.filter(isHttpTriggered).toSorted(byName)) {
      const route = toRoute(definition, options);
      if ('problem' in route) problems.push(about(definition, route.problem));
      else routes.push(route);
    }
    const entries = routes
      .toSorted((one, other) => comparePrecedence(one.template, other.template))
      .map((route, rank): Entry => ({ ...route, rank }));
    const byShape = new Map<string, Entry[]>();
    for (const entry of entries) {
      const shape = shapeOf(entry.template);
      const earlier = byShape.get(shape) ?? [];
      const problem = shadowOf(entry, earlier);
      if (problem !== undefined) warnings.push(about(entry.definition, problem));
      byShape.set(shape, [...earlier, entry]);
    }
    const position = trimSlashes(options.routePrefix).split('/').filter(Boolean).length;
    return { table: new RouteTable(entries, position), problems, warnings };
  }

  /** Number of segments of the route prefix. */
  get prefixLength(): number {
    return this.#position;
  }

  /** Whether this table has the same template for all methods of a route of another table. */
  covers({ template, methods }: TemplatedRoute): boolean {
    const identity = routeIdentity(template);
    const same = this.routes.filter((one) => routeIdentity(one.template) === identity);
    if (same.some((one) => one.methods === undefined)) return true;
    return methods !== undefined && [...methods].every((method) => same.some((one) => allows(one, method)));
  }

  /** Returns the cached match of a raw path. Most requests are for a few paths. */
  recall(method: string, path: string): RouteMatch | undefined {
    return this.#known.get(method)?.get(path);
  }

  /** Caches a match without parameters. Bounded, because clients can spell a path in many ways. */
  remember(method: string, path: string, match: RouteMatch): void {
    if (match.parameters !== noParameters) return;
    const known = this.#known.get(method) ?? new Map<string, RouteMatch>();
    if (known.size < maxKnown && this.#known.size < maxKnownMethods) this.#known.set(method, known.set(path, match));
  }

  match(method: string, path: PathSegments): RouteMatch | undefined {
    const { folded } = path;
    const constant = this.#constant.get(folded.length === 1 ? (folded[0] ?? '') : folded.join('/'));
    const certain = constant?.find((entry) => allows(entry, method));
    const bucket = this.#bySegments[Math.min(folded.length, this.#bySegments.length - 1)];
    const candidates = bucket?.byLiteral.get(folded[this.#position] ?? '') ?? bucket?.others ?? [];
    for (const entry of candidates) {
      if (certain && entry.rank > certain.rank) break;
      if (!allows(entry, method)) continue;
      const parameters = matchRoute(entry.template, path);
      if (parameters) return { route: entry, parameters };
    }
    return certain && { route: certain, parameters: noParameters };
  }
}

const maxKnown = 1_000;
const maxKnownMethods = 20;
const noParameters: RouteParameters = Object.freeze(Object.create(null) as Record<string, string>);

function about({ name, metadata }: FunctionDefinition, problem: string): FunctionProblem {
  return { functionName: name, file: metadata.scriptFile || undefined, problem };
}

function isHttpTriggered({ trigger }: FunctionDefinition): boolean {
  return trigger.type.toLowerCase() === 'httptrigger';
}

function byName(one: FunctionDefinition, other: FunctionDefinition): number {
  const [a, b] = [one.name.toLowerCase(), other.name.toLowerCase()];
  return a < b ? -1 : Number(a > b);
}

function allows({ methods }: HttpRoute, method: string): boolean {
  return methods === undefined || methods.has(method);
}

function toRoute(
  definition: FunctionDefinition,
  { routePrefix, reserved }: { readonly routePrefix: string; readonly reserved?: ReadonlySet<string> },
): TemplatedRoute | { readonly problem: string } {
  const { route: written, methods, authLevel = 'function' } = definition.trigger.options;
  const route = typeof written === 'string' && written.trim() !== '' ? trimSlashes(written) : definition.name;
  if (/^(?:admin|runtime)(?:\/|$)/i.test(route))
    return {
      problem: `its route "${route}" begins with "admin" or "runtime", which are reserved; choose another route`,
    };
  const level = authLevels.find((known) => typeof authLevel === 'string' && authLevel.toLowerCase() === known);
  if (!level)
    return { problem: `its authLevel ${JSON.stringify(authLevel)} is invalid; use one of ${authLevels.join(', ')}` };
  const allowed = readMethods(methods);
  if (allowed === 'bad') return { problem: `its methods ${JSON.stringify(methods)} are not a list of HTTP methods` };
  const prefix = trimSlashes(routePrefix);
  const path = prefix === '' ? route : `${prefix}/${route}`;
  const parsed = parseRouteTemplate(path);
  if ('problem' in parsed) return { problem: `its route "${path}" ${parsed.problem}` };
  const { template } = parsed;
  if (reserved?.has(constantPath(template) ?? ''))
    return { problem: `its route "${path}" is reserved; choose another route, or a routePrefix` };
  return { definition, path, methods: allowed, authLevel: level, template };
}

function readMethods(methods: unknown): ReadonlySet<string> | undefined | 'bad' {
  if (methods === undefined || methods === null) return undefined;
  const given: unknown[] = Array.isArray(methods) ? methods : typeof methods === 'string' ? methods.split(',') : [''];
  const names = given.map((method) => (typeof method === 'string' ? method.trim().toUpperCase() : ''));
  if (!names.every((name) => /^[A-Z-]{1,32}$/.test(name))) return 'bad';
  return names.length === 0 ? undefined : new Set(names);
}

/** Returns which methods of a route never reach its function, because earlier routes match all of its paths. */
function shadowOf({ template, methods, path }: Entry, earlier: readonly Entry[]): string | undefined {
  const before = earlier.filter((other) => matchesAllOf(other.template, template));
  const taken = before.filter((other) => overlap(methods, other.methods));
  if (taken.length === 0) return undefined;
  const names = taken.map(({ definition, path: other }) => `"${definition.name}" (route "${other}")`).join(', ');
  const isWhole =
    taken.some((other) => other.methods === undefined) ||
    (methods !== undefined && [...methods].every((method) => taken.some((other) => allows(other, method))));
  if (isWhole)
    return `its route "${path}" is never reached: every request for it goes to function ${names}. Change one of the routes or its methods`;
  const shared = [...new Set(taken.flatMap((other) => [...(other.methods ?? [])]))].filter((method) =>
    methods === undefined ? true : methods.has(method),
  );
  return `${shared.toSorted().join(', ')} requests for its route "${path}" go to function ${names}. Change one of the routes or its methods`;
}

function overlap(one: HttpRoute['methods'], other: HttpRoute['methods']): boolean {
  return !one || !other || [...one].some((method) => other.has(method));
}

/** Returns the path of a template without parameters. */
function constantPath({ segments }: RouteTemplate): string | undefined {
  const texts = segments.map(([part, ...more]) =>
    part?.kind === 'literal' && more.length === 0 ? part.text : undefined,
  );
  return texts.every((text) => text !== undefined) ? texts.join('/') : undefined;
}

function toBucket(entries: readonly Entry[], count: number, position: number): Bucket {
  const possible = entries.filter(({ template }) => {
    const { least, most } = segmentRange(template);
    return count >= least && count <= most;
  });
  const literals = new Set(possible.flatMap(({ template }) => literalAt(template, position) ?? []));
  const byLiteral = [...literals].map((literal) => {
    const fitting = possible.filter(({ template }) => [literal, undefined].includes(literalAt(template, position)));
    return [literal, fitting] as const;
  });
  const others = possible.filter(({ template }) => literalAt(template, position) === undefined);
  return { byLiteral: new Map(byLiteral), others };
}

function literalAt({ segments }: RouteTemplate, position: number): string | undefined {
  const [part, ...more] = segments[position] ?? [];
  return part?.kind === 'literal' && more.length === 0 ? part.text : undefined;
}

function trimSlashes(path: string): string {
  return path.replaceAll(/^\/+|\/+$/g, '');
}

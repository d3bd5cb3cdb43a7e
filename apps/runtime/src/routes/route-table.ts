import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import { matchRoute, segmentRange, type PathSegments, type RouteParameters } from './route-matcher.js';
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

/** Routes that can match a number of segments, by the first segment after the prefix if it is a literal. */
interface Bucket {
  readonly byLiteral: ReadonlyMap<string, readonly Entry[]>;
  /** Routes with a parameter in that place. */
  readonly others: readonly Entry[];
}

/**
 * Finds the function for a method and a path. As in the official host, routes are tried in the order of function names and the
 * first match wins, even if a later one is more specific. Constant routes are looked up in a map; the others are indexed by
 * number of segments and by the first segment after the prefix.
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

  /** Builds the table. Functions without an HTTP trigger are ignored; those with an invalid route become problems. */
  static of(
    functions: readonly FunctionDefinition[],
    options: { readonly routePrefix: string; readonly reserved?: ReadonlySet<string> },
  ): { readonly table: RouteTable; readonly problems: readonly FunctionProblem[] } {
    const entries: Entry[] = [];
    const problems: FunctionProblem[] = [];
    const identities = new Map<string, Entry[]>();
    for (const definition of functions.filter(isHttpTriggered).toSorted(byName)) {
      const entry = toEntry(definition, entries.length, options);
      const problem = 'problem' in entry ? entry.problem : conflict(entry, identities);
      if (problem !== undefined || 'problem' in entry) {
        const file = definition.metadata.scriptFile || undefined;
        problems.push({ functionName: definition.name, file, problem: problem ?? 'it has no route' });
        continue;
      }
      const identity = routeIdentity(entry.template);
      identities.set(identity, [...(identities.get(identity) ?? []), entry]);
      entries.push(entry);
    }
    const position = trimSlashes(options.routePrefix).split('/').filter(Boolean).length;
    return { table: new RouteTable(entries, position), problems };
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

function toEntry(
  definition: FunctionDefinition,
  rank: number,
  { routePrefix, reserved }: { readonly routePrefix: string; readonly reserved?: ReadonlySet<string> },
): Entry | { readonly problem: string } {
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
  return { definition, path, methods: allowed, authLevel: level, template, rank };
}

function readMethods(methods: unknown): ReadonlySet<string> | undefined | 'bad' {
  if (methods === undefined || methods === null) return undefined;
  const given: unknown[] = Array.isArray(methods) ? methods : typeof methods === 'string' ? methods.split(',') : [''];
  const names = given.map((method) => (typeof method === 'string' ? method.trim().toUpperCase() : ''));
  if (!names.every((name) => /^[A-Z-]{1,32}$/.test(name))) return 'bad';
  return names.length === 0 ? undefined : new Set(names);
}

function conflict(entry: Entry, identities: ReadonlyMap<string, readonly Entry[]>): string | undefined {
  const other = identities.get(routeIdentity(entry.template))?.find((earlier) => overlap(entry, earlier));
  return (
    other && `its route "${entry.path}" is also the route of function "${other.definition.name}", for the same methods`
  );
}

function overlap({ methods: one }: Entry, { methods: other }: Entry): boolean {
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

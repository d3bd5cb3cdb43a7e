import type { HttpApplication, RequestLine } from './http-application.js';
import { pathSegments, splitTarget } from './request-target.js';
import type { RouteTemplate } from './route-template.js';

/** An application whose routes may be those of several versions. */
export interface RoutedApplication {
  /** The routes of all its versions. */
  readonly routes: readonly HttpApplication[];
  /** Returns the routes for a request; `matches` says whether routes have one for it. */
  choose(matches: (http: HttpApplication) => boolean): HttpApplication | undefined;
}

interface Candidate {
  readonly application: RoutedApplication;
  /** Position among all applications: the first one wins. */
  readonly rank: number;
}

/**
 * Finds the application of a request among many: of those with a route for it, the one with the longest route prefix; then the
 * first. Applications are indexed by the first two segments of their routes, because a runtime may host a thousand of them.
 */
export class RouteResolver {
  readonly #applications: () => Iterable<RoutedApplication>;
  #index: Map<string, Candidate[]> | undefined;

  constructor(applications: () => Iterable<RoutedApplication>) {
    this.#applications = applications;
  }

  /** Call it when an application was added, changed or removed. */
  clear(): void {
    this.#index = undefined;
  }

  resolve({ method = 'GET', url = '/', headers }: RequestLine): HttpApplication | undefined {
    const target = splitTarget(url);
    const segments = target && pathSegments(target.path);
    if (!segments) return undefined;
    // A preflight is answered by the application whose function the browser is about to call.
    const called = (method === 'OPTIONS' && headers?.['access-control-request-method']) || method;
    let found: HttpApplication | undefined;
    const matches = (http: HttpApplication): boolean =>
      (!found || http.routes.prefixLength > found.routes.prefixLength) &&
      http.routes.match(called, segments) !== undefined;
    for (const { application } of this.#candidates(segments.folded)) found = application.choose(matches) ?? found;
    return found;
  }

  /** Returns the applications that may have a route for a path, each once, in their order. */
  #candidates([first = '', second = '']: readonly string[]): readonly Candidate[] {
    this.#index ??= this.#build();
    const lists = [`${first}/${second}`, `${first}/*`, '*'].flatMap((key) => this.#index?.get(key) ?? []);
    const once = new Map(lists.map((candidate) => [candidate.rank, candidate]));
    return [...once.values()].toSorted((one, other) => one.rank - other.rank);
  }

  #build(): Map<string, Candidate[]> {
    const index = new Map<string, Candidate[]>();
    let rank = 0;
    for (const application of this.#applications()) {
      const candidate = { application, rank: rank++ };
      const keys = new Set(
        application.routes.flatMap(({ routes }) => routes.routes.map(({ template }) => keyOf(template))),
      );
      for (const key of keys) {
        const others = index.get(key);
        if (others) others.push(candidate);
        else index.set(key, [candidate]);
      }
    }
    return index;
  }
}

/** The first two segments of a route, if they are literals; a star stands for what a parameter may match. */
function keyOf({ segments }: RouteTemplate): string {
  const [first, second] = segments
    .slice(0, 2)
    .map(([part, ...more]) => (part?.kind === 'literal' && more.length === 0 ? part.text : undefined));
  if (first === undefined) return '*';
  return `${first}/${second ?? '*'}`;
}

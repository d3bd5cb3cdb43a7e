import type { HttpApplication, RequestLine } from './http-application.js';
import { pathSegments, splitTarget } from './request-target.js';

/** An application whose routes may be those of several versions. */
export interface RoutedApplication {
  /** Returns the routes for a request; `matches` says whether routes have one for it. */
  choose(matches: (http: HttpApplication) => boolean): HttpApplication | undefined;
}

/** Requests whose application is remembered; more are looked up each time. */
const mostKnown = 10_000;

/**
 * Finds the application of a request among many: of those with a route for it, the one with the longest route prefix; then the
 * first. Most requests are for a few paths, so their application is remembered.
 */
export class RouteResolver {
  readonly #known = new Map<string, RoutedApplication>();

  /** Call it when an application was added, changed or removed. */
  clear(): void {
    this.#known.clear();
  }

  resolve(
    applications: Iterable<RoutedApplication>,
    { method = 'GET', url = '/', headers }: RequestLine,
  ): HttpApplication | undefined {
    const target = splitTarget(url);
    const segments = target && pathSegments(target.path);
    if (!segments) return undefined;
    // A preflight is answered by the application whose function the browser is about to call.
    const called = (method === 'OPTIONS' && headers?.['access-control-request-method']) || method;
    const matches = ({ routes }: HttpApplication): boolean => routes.match(called, segments) !== undefined;
    const key = `${called} ${target.path}`;
    const known = this.#known.get(key)?.choose(matches);
    if (known) return known;
    let found: { readonly application: RoutedApplication; readonly http: HttpApplication } | undefined;
    for (const application of applications) {
      const http = application.choose((one) => {
        const isLonger = !found || one.routes.prefixLength > found.http.routes.prefixLength;
        return isLonger && matches(one);
      });
      if (http) found = { application, http };
    }
    if (found && this.#known.size < mostKnown) this.#known.set(key, found.application);
    return found?.http;
  }
}

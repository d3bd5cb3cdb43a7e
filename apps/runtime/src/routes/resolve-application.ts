import type { HttpApplication, RequestLine } from './http-application.js';
import { pathSegments, splitTarget } from './request-target.js';

/**
 * Returns the application of a request: of those with a route for it, the one with the longest route prefix, since an empty prefix
 * and a catch-all route would hide all others; then the first. Without a route, the first application answers.
 */
export function resolveApplication<Application extends Pick<HttpApplication, 'routes'>>(
  applications: readonly Application[],
  { method = 'GET', url = '/', headers }: RequestLine,
): Application | undefined {
  const [first] = applications;
  if (applications.length <= 1) return first;
  const target = splitTarget(url);
  const segments = target && pathSegments(target.path);
  if (!segments) return first;
  // A preflight is answered by the application whose function the browser is about to call.
  const called = (method === 'OPTIONS' && headers?.['access-control-request-method']) || method;
  let found: Application | undefined;
  for (const application of applications) {
    const { routes } = application;
    if (found && found.routes.prefixLength >= routes.prefixLength) continue;
    if (routes.match(called, segments)) found = application;
  }
  return found ?? first;
}

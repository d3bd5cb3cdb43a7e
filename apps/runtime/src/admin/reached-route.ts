import type { HttpApplication } from '../routes/http-application.js';
import type { TemplatedRoute } from '../routes/route-table.js';

/** Returns the HTTP route of a function; undefined if it has none, or if an earlier application answers at that address. */
export function reachedRoute(
  functionName: string,
  application: HttpApplication,
  applications: readonly HttpApplication[],
): TemplatedRoute | undefined {
  const route = application.routes.routes.find(({ definition }) => definition.name === functionName);
  const earlier = applications.slice(0, applications.indexOf(application));
  return route && !earlier.some(({ routes }) => routes.covers(route)) ? route : undefined;
}

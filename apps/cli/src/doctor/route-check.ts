import type { RouteClash } from '@drover/contracts';
import { good, warning, type Finding } from './finding.js';

/** Reports the paths that both a collection and a function have. They exist only from before such paths were refused, or by a roll back. */
export function checkRoutes(clashes: readonly RouteClash[]): Finding[] {
  if (clashes.length === 0) return [good('routes', 'no path belongs to both a collection and a function')];
  return clashes.map(({ path, collection, application, function: name, route }) => {
    const owner = collection === undefined ? 'the records API' : `the collection "${collection}"`;
    return warning(
      'routes',
      `Requests for ${path} go to ${owner}, and never to the function "${name}" of the application "${application}" (route "${route}").`,
      'Change the route of the function and deploy the application, or rename the collection.',
    );
  });
}

import type { RouteClash } from '@drover/contracts';
import { good, warning, type Finding } from './finding.js';

/**
 * Reports the paths that both a collection and a function have, or functions of two applications. They exist only from before such
 * paths were refused, by a roll back, or in folders of `drover up`.
 */
export function checkRoutes(clashes: readonly RouteClash[]): Finding[] {
  if (clashes.length === 0)
    return [good('routes', 'no path belongs to a collection and a function, or to two applications')];
  return clashes.map(({ path, collection, application, function: name, route, otherApplication, otherFunction }) => {
    if (otherApplication !== undefined)
      return warning(
        'routes',
        `Only one function answers requests for ${path}: "${name}" of the application "${application}" and "${otherFunction}" of the application "${otherApplication}" have that route.`,
        'Change the route of one of them and deploy its application.',
      );
    const owner = collection === undefined ? 'the records API' : `the collection "${collection}"`;
    return warning(
      'routes',
      `Requests for ${path} go to ${owner}, and never to the function "${name}" of the application "${application}" (route "${route}").`,
      'Change the route of the function and deploy the application, or rename the collection.',
    );
  });
}

import { defineError, type RouteClash } from '@drover/contracts';

const shown = 3;

const listed = (clashes: readonly RouteClash[], describe: (clash: RouteClash) => string): string =>
  [
    ...clashes.slice(0, shown).map(describe),
    ...(clashes.length > shown ? [`${clashes.length - shown} more routes clash.`] : []),
  ].join(' ');

export const collectionRouteTaken = defineError<{ clashes: readonly RouteClash[] }>('COLLECTION_ROUTE_TAKEN', {
  fault: 'caller',
  retryable: false,
  status: 409,
  message: (d) =>
    `No collection was stored. ${listed(d.clashes, ({ collection, path, application, function: name, route }) => {
      const owner = collection === undefined ? 'The records API' : `The collection "${collection}"`;
      return `${owner} would serve ${path}, which the function "${name}" of the application "${application}" serves (route "${route}").`;
    })} Choose another name, or change the route and deploy the application first.`,
  help: 'A collection has its path and everything below it, such as `/api/orders`, and a function of the same tenant has a route there. The names `operations`, `_search` and `openapi.json` belong to the records API as soon as there is a collection. Choose another name, or change the route of the function first.',
});

export const applicationRouteTaken = defineError<{ applicationId: string; clashes: readonly RouteClash[] }>(
  'APPLICATION_ROUTE_TAKEN',
  {
    fault: 'customer',
    retryable: false,
    status: 409,
    message: (d) =>
      `The application "${d.applicationId}" was not changed. ${listed(
        d.clashes,
        ({ collection, path, function: name, route, otherApplication, otherFunction }) => {
          const owner =
            otherApplication !== undefined
              ? `the function "${otherFunction}" of the application "${otherApplication}"`
              : collection === undefined
                ? 'the records API'
                : `the collection "${collection}"`;
          return `Its function "${name}" has the route "${route}", but ${owner} serves ${path}.`;
        },
      )} Change the route, or free the path first.`,
    help: 'A function has a route below the path of a collection of the same tenant, such as `/api/orders`, or below `/api/operations`, `/api/_search` or `/api/openapi.json`, which belong to the records API as soon as there is a collection. Or a function of another application of the tenant has the same route for the same method. Nothing was changed; the version that runs goes on. Change the route, rename or delete the collection, or remove the route from the other application first.',
  },
);

export const routeClashErrors = { collectionRouteTaken, applicationRouteTaken };

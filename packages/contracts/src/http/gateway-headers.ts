/** On a request: a gateway sent it by the route of this generation. On an answer with status 421: the generation that the worker knows. */
export const routeGenerationHeader = 'x-drover-route-generation';

/** On a request of a gateway whose body cannot be sent again: the worker serves it also if the collection is not assigned to it. */
export const serveAnywayHeader = 'x-drover-serve-anyway';

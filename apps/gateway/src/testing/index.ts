export type { CollectionEndpoint } from '../endpoints/collection-endpoint.js';
export { CollectionEndpoints } from '../endpoints/collection-endpoints.js';
export { defaultEndpointPolicy } from '../picking/endpoint.js';
export { pickEndpoint } from '../picking/pick-endpoint.js';
export { RetryBudget } from '../picking/retry-budget.js';
export { CollectionRoutes } from '../routes/collection-routes.js';

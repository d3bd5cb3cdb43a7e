export { composeCollectionFront } from './compose-collection-front.js';
export { gatewayProcess } from './compose.js';
export { gatewayProcessVariables, parseGatewayConfig } from './config.js';
export type { GatewayConfig } from './config.js';
export { gatewayErrors } from './errors.js';
export { collectionFrontMetrics, collectionFrontReaders, gatewayReaders } from './observations.js';
export { endpointStates } from './picking/endpoint.js';
export { FunctionProxy } from './proxy/function-proxy.js';
export type { FunctionProxyOptions } from './proxy/function-proxy.js';

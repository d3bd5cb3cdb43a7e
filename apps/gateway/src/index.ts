export { gatewayVariables, parseGatewayConfig } from './config.js';
export type { GatewayConfig } from './config.js';
export { CollectionNames } from './collections/collection-names.js';
export { CollectionProxy } from './collections/collection-proxy.js';
export { gatewayErrors } from './errors.js';
export { FunctionProxy } from './proxy/function-proxy.js';
export type { FunctionProxyOptions } from './proxy/function-proxy.js';

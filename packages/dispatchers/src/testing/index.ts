export { EndpointHosts } from '../outbound/endpoint-hosts.js';
export { attemptOf, definitionOf } from './attempts.js';
export type { TestAttempt } from './attempts.js';
export { dispatcherContract } from './dispatcher-contract.js';
export type { DispatcherWorld, FunctionBehaviour } from './dispatcher-contract.js';
export { ForeignEndpoint } from './foreign-endpoint.js';
export { ScriptedRuntime, refuse } from './scripted-runtime.js';

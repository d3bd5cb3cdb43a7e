export { ForeignEndpoint } from './foreign-endpoint.js';
export { ScriptedRuntime, refuse } from './scripted-runtime.js';

export { FunctionRpcServer } from './function-rpc-server.js';
export type { FunctionRpcServerOptions, ServerLimits } from './function-rpc-server.js';
export type { Listener, TlsListener } from './listeners.js';
export type { Refusal } from './refusal.js';
export type { SettlementHandlers } from './settlement.js';
export type { UnaryCall } from './unary-method.js';

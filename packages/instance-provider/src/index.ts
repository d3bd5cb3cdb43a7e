export { isDebugged, withFreeDebugPort } from './commands/debug-port.js';
export { programOptionsOf } from './commands/program-options.js';
export { hostArguments, parseWorkerCommand, withFilesFrom, workerDirectory } from './commands/worker-command.js';
export type { WorkerCommand, WorkerEndpointFacts } from './commands/worker-command.js';
export { placeholderEnvironment, withoutPlatformVariables } from './commands/worker-environment.js';
export { instanceErrors } from './errors.js';
export { instanceStates } from './instance-provider.js';
export type {
  Instance,
  InstanceEvent,
  InstanceProvider,
  InstanceRole,
  InstanceSpec,
  InstanceState,
  InstanceUsage,
} from './instance-provider.js';
export { ipcInstanceChannel } from './local/instance-channel.js';
export type { InstanceChannel } from './local/instance-channel.js';
export { applicationLabel, versionLabel } from './local/debug-port-claims.js';
export { LocalProcessProvider } from './local/local-process-provider.js';
export { ProcessHost } from './local/process-host.js';
export type { ProcessHostOptions, RoleProgram } from './local/process-host.js';
export { processHostReaders } from './local/process-host-observations.js';
export type { ProcessHostObservation } from './local/process-host-observations.js';
export { serveInstances } from './local/serve-instances.js';
export { WorkerProcess } from './processes/worker-process.js';
export type { ProcessEnd } from './processes/worker-process.js';

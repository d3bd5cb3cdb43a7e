export { MessageInbox } from './message-inbox.js';
export {
  failure,
  invocationRequest,
  invocationResponse,
  message,
  rpcFunctionMetadata,
  startStream,
  success,
  workerTerminate,
} from './messages.js';
export type { MessageOf } from './messages.js';
export { AdmittedWorker, ScriptedHost } from './scripted-host.js';
export { ScriptedWorker } from './scripted-worker.js';
export type { WorkerScript } from './scripted-worker.js';
export { TestAuthority } from './test-authority.js';
export type { TestSubject } from './test-authority.js';

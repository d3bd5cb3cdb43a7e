export type {
  ApplicationSample,
  ControllerMessage,
  HostedApplication,
  HostedVersion,
  LinkedWorker,
  LinkedWorkerState,
  RuntimeMessage,
  TriggerSample,
} from './messages.js';

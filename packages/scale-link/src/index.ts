export type { AttachedRuntime, RuntimeAttach, ControllerLinkStream, RuntimeOwner } from './attachments.js';
export { scaleLinkErrors } from './errors.js';
export type { LinkStream, LinkStreamHandlers } from './link-stream.js';
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
export { openScaleLink } from './open-scale-link.js';
export type { OpenScaleLink, RuntimeLinkStream } from './open-scale-link.js';
export { ScaleLinkClient } from './scale-link-client.js';
export type { LinkOwner, ScaleLinkClientOptions } from './scale-link-client.js';
export { ScaleLinkServer } from './scale-link-server.js';
export type { ScaleLinkServerOptions } from './scale-link-server.js';
export { readTlsDirectory } from './tls-directory.js';

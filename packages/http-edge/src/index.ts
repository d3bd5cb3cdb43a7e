export type { Answer, AnswerBegin } from './client/answer-reader.js';
export type { BodyStream } from './client/body-stream.js';
export { ClientConnection } from './client/client-connection.js';
export type { AnswerReceiver, ClientConnectionOptions } from './client/client-connection.js';
export { ClientFault } from './client/client-fault.js';
export type { ClientFaultCode } from './client/client-fault.js';
export { headerLine, isHeaderValue, requestHead } from './client/client-request.js';
export type { ClientMethod, ClientRequest, ForwardedRequest } from './client/client-request.js';
export { ConnectionPool } from './client/connection-pool.js';
export { sendRequest } from './client/send-request.js';
export type { ConnectionPoolOptions, ConnectionUser } from './client/connection-pool.js';
export { corsHeaders, isPreflight, preflightHeaders } from './cors/cors-policy.js';
export type { CorsPolicy } from './cors/cors-policy.js';
export { corsPolicyOf, corsRule, corsVariables } from './cors/cors-variables.js';
export {
  addressTooLong,
  bodyTooLarge,
  bodyUnreadable,
  edgeErrors,
  mediaTypeUnsupported,
  shuttingDown,
} from './errors/edge-errors.js';
export { FastLaneWire } from './exchange/fast-lane-wire.js';
export { StreamWire } from './exchange/stream-wire.js';
export type { EdgeRequest, Wire, WireEnd } from './exchange/wire.js';
export { FramedCalls } from './framed/framed-calls.js';
export type { FramedCallsOptions } from './framed/framed-calls.js';
export type { FramedConnection } from './framed/framed-connection.js';
export { IpcConnectionChannel } from './handoff/connection-channel.js';
export type { ConnectionChannel, PassedConnection } from './handoff/connection-channel.js';
export { ConnectionRelay } from './handoff/connection-relay.js';
export { requestIdOf } from './errors/request-id.js';
export { toErrorAnswer } from './errors/write-error.js';
export type { ErrorAnswer } from './errors/write-error.js';
export type { AnswerSink } from './proxy/answer-sink.js';
export { ExtraHeadersSink } from './proxy/extra-headers-sink.js';
export { FastLaneSink } from './proxy/fast-lane-sink.js';
export { forwardedChanges } from './proxy/forwarded-headers.js';
export { forwardedHead, forwardFastLane, forwardStream, hasBody } from './proxy/forwarded-request.js';
export type { HeadChanges } from './proxy/forwarded-request.js';
export { endToEndHeaders, forwardedLine, isHopByHop, namedByConnectionHeader } from './proxy/hop-by-hop.js';
export { ProxiedRequest } from './proxy/proxied-request.js';
export type { MissKind, ProxiedRequestOptions } from './proxy/proxied-request.js';
export { readShortBody } from './proxy/short-body.js';
export { ResponseSink } from './proxy/response-sink.js';
export type { ResponseStream } from './proxy/response-sink.js';
export { apiReaders, type ApiObservation } from './server/api-observations.js';
export { FastLane, type FastLaneOptions } from './server/fast-lane/fast-lane.js';
export type { FastLaneExchange } from './server/fast-lane/fast-lane-exchange.js';
export type { FastLaneLimits, FastLaneMethod, FastLaneRequest } from './server/fast-lane/fast-lane-request.js';
export { ApiServer } from './server/api-server.js';
export type { ApiServerOptions } from './server/api-server.js';
export { LocalSocket, localSocketFile } from './server/local-socket.js';
export { HttpPort } from './server/port.js';
export type { HttpPortOptions } from './server/port.js';
export { probes } from './server/probes.js';
export { edgeVariables, publicPortLimits, serverOptions } from './server/port-limits.js';
export type { PortLimits } from './server/port-limits.js';
export { RequestDurations, requestMetrics } from './server/request-durations.js';
export { limitProblem } from './server/request-limits.js';
export { UploadingConnections } from './server/uploading-connections.js';
export { answerUnreadable, toUnreadableError, unreadableKind } from './server/unreadable-request.js';
export type { UnreadableKind } from './server/unreadable-request.js';

// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoReader } from '../codec/reader.js';
import type { StreamingMessage, StreamingMessageKind } from './streaming-message.js';
import { readStartStream } from './start-stream.js';
import { readWorkerInitRequest } from './worker-init-request.js';
import { readWorkerInitResponse } from './worker-init-response.js';
import { readWorkerHeartbeat } from './worker-heartbeat.js';
import { readWorkerTerminate } from './worker-terminate.js';
import { readFileChangeEventRequest } from './file-change-event-request.js';
import { readWorkerActionResponse } from './worker-action-response.js';
import { readWorkerStatusRequest } from './worker-status-request.js';
import { readWorkerStatusResponse } from './worker-status-response.js';
import { readFunctionEnvironmentReloadRequest } from './function-environment-reload-request.js';
import { readFunctionEnvironmentReloadResponse } from './function-environment-reload-response.js';
import { readCloseSharedMemoryResourcesRequest } from './close-shared-memory-resources-request.js';
import { readCloseSharedMemoryResourcesResponse } from './close-shared-memory-resources-response.js';
import { readFunctionLoadRequestCollection } from './function-load-request-collection.js';
import { readFunctionLoadResponseCollection } from './function-load-response-collection.js';
import { readFunctionLoadRequest } from './function-load-request.js';
import { readFunctionLoadResponse } from './function-load-response.js';
import { readFunctionsMetadataRequest } from './functions-metadata-request.js';
import { readFunctionMetadataResponse } from './function-metadata-response.js';
import { readInvocationRequest } from './invocation-request.js';
import { readInvocationCancel } from './invocation-cancel.js';
import { readInvocationResponse } from './invocation-response.js';
import { readWorkerWarmupRequest } from './worker-warmup-request.js';
import { readWorkerWarmupResponse } from './worker-warmup-response.js';
import { readRpcLog } from './rpc-log.js';

const streamingMessageFields: readonly number[] = [
  1, 2, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17, 20, 21, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34,
];

/** Reads a StreamingMessage that ends at `end`. */
export function readStreamingMessage(reader: ProtoReader, end: number): StreamingMessage {
  let requestId = '';
  let kind: StreamingMessageKind | undefined;
  let value: unknown;
  while (reader.position < end) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        requestId = reader.string(end);
        break;
      case 18:
        kind = 'rpcLog';
        value = readRpcLog(reader, reader.nested(end));
        break;
      case 34:
        kind = 'invocationRequest';
        value = readInvocationRequest(reader, reader.nested(end));
        break;
      case 42:
        kind = 'invocationResponse';
        value = readInvocationResponse(reader, reader.nested(end));
        break;
      case 50:
        kind = 'fileChangeEventRequest';
        value = readFileChangeEventRequest(reader, reader.nested(end));
        break;
      case 58:
        kind = 'workerActionResponse';
        value = readWorkerActionResponse(reader, reader.nested(end));
        break;
      case 66:
        kind = 'functionLoadRequest';
        value = readFunctionLoadRequest(reader, reader.nested(end));
        break;
      case 74:
        kind = 'functionLoadResponse';
        value = readFunctionLoadResponse(reader, reader.nested(end));
        break;
      case 98:
        kind = 'workerStatusRequest';
        value = readWorkerStatusRequest(reader, reader.nested(end));
        break;
      case 106:
        kind = 'workerStatusResponse';
        value = readWorkerStatusResponse(reader, reader.nested(end));
        break;
      case 114:
        kind = 'workerTerminate';
        value = readWorkerTerminate(reader, reader.nested(end));
        break;
      case 122:
        kind = 'workerHeartbeat';
        value = readWorkerHeartbeat(reader, reader.nested(end));
        break;
      case 130:
        kind = 'workerInitResponse';
        value = readWorkerInitResponse(reader, reader.nested(end));
        break;
      case 138:
        kind = 'workerInitRequest';
        value = readWorkerInitRequest(reader, reader.nested(end));
        break;
      case 162:
        kind = 'startStream';
        value = readStartStream(reader, reader.nested(end));
        break;
      case 170:
        kind = 'invocationCancel';
        value = readInvocationCancel(reader, reader.nested(end));
        break;
      case 202:
        kind = 'functionEnvironmentReloadRequest';
        value = readFunctionEnvironmentReloadRequest(reader, reader.nested(end));
        break;
      case 210:
        kind = 'functionEnvironmentReloadResponse';
        value = readFunctionEnvironmentReloadResponse(reader, reader.nested(end));
        break;
      case 218:
        kind = 'closeSharedMemoryResourcesRequest';
        value = readCloseSharedMemoryResourcesRequest(reader, reader.nested(end));
        break;
      case 226:
        kind = 'closeSharedMemoryResourcesResponse';
        value = readCloseSharedMemoryResourcesResponse(reader, reader.nested(end));
        break;
      case 234:
        kind = 'functionsMetadataRequest';
        value = readFunctionsMetadataRequest(reader, reader.nested(end));
        break;
      case 242:
        kind = 'functionMetadataResponse';
        value = readFunctionMetadataResponse(reader, reader.nested(end));
        break;
      case 250:
        kind = 'functionLoadRequestCollection';
        value = readFunctionLoadRequestCollection(reader, reader.nested(end));
        break;
      case 258:
        kind = 'functionLoadResponseCollection';
        value = readFunctionLoadResponseCollection(reader, reader.nested(end));
        break;
      case 266:
        kind = 'workerWarmupRequest';
        value = readWorkerWarmupRequest(reader, reader.nested(end));
        break;
      case 274:
        kind = 'workerWarmupResponse';
        value = readWorkerWarmupResponse(reader, reader.nested(end));
        break;
      default:
        reader.skip(tag, end, streamingMessageFields);
    }
  }
  reader.leave(end);
  // Kind and value were read together.
  return { requestId, kind, value } as StreamingMessage;
}

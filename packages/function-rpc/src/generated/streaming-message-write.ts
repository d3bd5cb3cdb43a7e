// Generated from proto/ by src/generator/main.ts (npm run generate -w @drover/function-rpc). Do not edit.

import type { ProtoWriter } from '../codec/writer.js';
import type { StreamingMessageInit } from './streaming-message.js';
import { writeStartStream } from './start-stream.js';
import { writeWorkerInitRequest } from './worker-init-request.js';
import { writeWorkerInitResponse } from './worker-init-response.js';
import { writeWorkerHeartbeat } from './worker-heartbeat.js';
import { writeWorkerTerminate } from './worker-terminate.js';
import { writeFileChangeEventRequest } from './file-change-event-request.js';
import { writeWorkerActionResponse } from './worker-action-response.js';
import { writeWorkerStatusRequest } from './worker-status-request.js';
import { writeWorkerStatusResponse } from './worker-status-response.js';
import { writeFunctionEnvironmentReloadRequest } from './function-environment-reload-request.js';
import { writeFunctionEnvironmentReloadResponse } from './function-environment-reload-response.js';
import { writeCloseSharedMemoryResourcesRequest } from './close-shared-memory-resources-request.js';
import { writeCloseSharedMemoryResourcesResponse } from './close-shared-memory-resources-response.js';
import { writeFunctionLoadRequestCollection } from './function-load-request-collection.js';
import { writeFunctionLoadResponseCollection } from './function-load-response-collection.js';
import { writeFunctionLoadRequest } from './function-load-request.js';
import { writeFunctionLoadResponse } from './function-load-response.js';
import { writeFunctionsMetadataRequest } from './functions-metadata-request.js';
import { writeFunctionMetadataResponse } from './function-metadata-response.js';
import { writeInvocationRequest } from './invocation-request.js';
import { writeInvocationCancel } from './invocation-cancel.js';
import { writeInvocationResponse } from './invocation-response.js';
import { writeWorkerWarmupRequest } from './worker-warmup-request.js';
import { writeWorkerWarmupResponse } from './worker-warmup-response.js';
import { writeRpcLog } from './rpc-log.js';

/** Writes the fields of a StreamingMessage. */
export function writeStreamingMessage(writer: ProtoWriter, message: StreamingMessageInit): void {
  if (message.requestId) writer.string(10, message.requestId);
  switch (message.kind) {
    case 'rpcLog': {
      const start = writer.open(18, 0);
      writeRpcLog(writer, message.value);
      writer.close(start, 0);
      break;
    }
    case 'invocationRequest': {
      const start = writer.open(34, 1);
      writeInvocationRequest(writer, message.value);
      writer.close(start, 1);
      break;
    }
    case 'invocationResponse': {
      const start = writer.open(42, 2);
      writeInvocationResponse(writer, message.value);
      writer.close(start, 2);
      break;
    }
    case 'fileChangeEventRequest': {
      const start = writer.open(50, 3);
      writeFileChangeEventRequest(writer, message.value);
      writer.close(start, 3);
      break;
    }
    case 'workerActionResponse': {
      const start = writer.open(58, 4);
      writeWorkerActionResponse(writer, message.value);
      writer.close(start, 4);
      break;
    }
    case 'functionLoadRequest': {
      const start = writer.open(66, 5);
      writeFunctionLoadRequest(writer, message.value);
      writer.close(start, 5);
      break;
    }
    case 'functionLoadResponse': {
      const start = writer.open(74, 6);
      writeFunctionLoadResponse(writer, message.value);
      writer.close(start, 6);
      break;
    }
    case 'workerStatusRequest': {
      const start = writer.open(98, 7);
      writeWorkerStatusRequest(writer, message.value);
      writer.close(start, 7);
      break;
    }
    case 'workerStatusResponse': {
      const start = writer.open(106, 8);
      writeWorkerStatusResponse(writer, message.value);
      writer.close(start, 8);
      break;
    }
    case 'workerTerminate': {
      const start = writer.open(114, 9);
      writeWorkerTerminate(writer, message.value);
      writer.close(start, 9);
      break;
    }
    case 'workerHeartbeat': {
      const start = writer.open(122, 10);
      writeWorkerHeartbeat(writer, message.value);
      writer.close(start, 10);
      break;
    }
    case 'workerInitResponse': {
      const start = writer.open(130, 11);
      writeWorkerInitResponse(writer, message.value);
      writer.close(start, 11);
      break;
    }
    case 'workerInitRequest': {
      const start = writer.open(138, 12);
      writeWorkerInitRequest(writer, message.value);
      writer.close(start, 12);
      break;
    }
    case 'startStream': {
      const start = writer.open(162, 13);
      writeStartStream(writer, message.value);
      writer.close(start, 13);
      break;
    }
    case 'invocationCancel': {
      const start = writer.open(170, 14);
      writeInvocationCancel(writer, message.value);
      writer.close(start, 14);
      break;
    }
    case 'functionEnvironmentReloadRequest': {
      const start = writer.open(202, 15);
      writeFunctionEnvironmentReloadRequest(writer, message.value);
      writer.close(start, 15);
      break;
    }
    case 'functionEnvironmentReloadResponse': {
      const start = writer.open(210, 16);
      writeFunctionEnvironmentReloadResponse(writer, message.value);
      writer.close(start, 16);
      break;
    }
    case 'closeSharedMemoryResourcesRequest': {
      const start = writer.open(218, 17);
      writeCloseSharedMemoryResourcesRequest(writer, message.value);
      writer.close(start, 17);
      break;
    }
    case 'closeSharedMemoryResourcesResponse': {
      const start = writer.open(226, 18);
      writeCloseSharedMemoryResourcesResponse(writer, message.value);
      writer.close(start, 18);
      break;
    }
    case 'functionsMetadataRequest': {
      const start = writer.open(234, 19);
      writeFunctionsMetadataRequest(writer, message.value);
      writer.close(start, 19);
      break;
    }
    case 'functionMetadataResponse': {
      const start = writer.open(242, 20);
      writeFunctionMetadataResponse(writer, message.value);
      writer.close(start, 20);
      break;
    }
    case 'functionLoadRequestCollection': {
      const start = writer.open(250, 21);
      writeFunctionLoadRequestCollection(writer, message.value);
      writer.close(start, 21);
      break;
    }
    case 'functionLoadResponseCollection': {
      const start = writer.open(258, 22);
      writeFunctionLoadResponseCollection(writer, message.value);
      writer.close(start, 22);
      break;
    }
    case 'workerWarmupRequest': {
      const start = writer.open(266, 23);
      writeWorkerWarmupRequest(writer, message.value);
      writer.close(start, 23);
      break;
    }
    case 'workerWarmupResponse': {
      const start = writer.open(274, 24);
      writeWorkerWarmupResponse(writer, message.value);
      writer.close(start, 24);
      break;
    }
  }
}

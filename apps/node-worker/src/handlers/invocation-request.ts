import { encodeStreamingMessage, type InvocationResponseInit, type StreamingMessageInit } from '@drover/function-rpc';
import type { ContextSignals } from '../execution/context-signal.js';
import { failure, success } from '../execution/exceptions.js';
import type { InFlight } from '../execution/in-flight.js';
import { approximateBytes, toInvocationResponse } from '../execution/invocation-response.js';
import { Invocation } from '../execution/invocation.js';
import type { LoopTurns } from '../execution/loop-turns.js';
import { runInvocation, type Outcome } from '../execution/run-invocation.js';
import type { AppLoader } from '../loading/app-loader.js';
import type { AppSlot } from '../loading/app-slot.js';
import { SystemError } from '../loading/system-errors.js';
import type { RpcLogs } from '../logs/rpc-logs.js';
import type { SystemLog } from '../logs/system-log.js';
import type { HostStream } from '../stream/host-connection.js';
import type { MessageHandler } from './dispatch.js';

/** Smaller responses are sent at once. Larger ones are encoded first and compared with the limit of the host. */
const uncheckedBytes = 1_024 * 1_024;

export interface InvocationRequestParts {
  readonly apps: AppSlot;
  readonly loader: AppLoader;
  readonly inFlight: InFlight;
  readonly signals: ContextSignals;
  readonly turns: LoopTurns;
  readonly logs: RpcLogs;
  readonly systemLog: SystemLog;
  readonly isTerminating: () => boolean;
  /** The largest message that the host accepts. */
  readonly maxMessageBytes: number;
}

/** Runs a function and responds with its result. */
export function invocationRequest(parts: InvocationRequestParts): MessageHandler<'invocationRequest'> {
  const { apps, inFlight, logs, systemLog, isTerminating, maxMessageBytes } = parts;

  const run = async (invocation: Invocation): Promise<void> => {
    const outcome = await runInvocation(invocation, apps.current, parts);
    inFlight.remove(invocation);
    const { stream, requestId } = invocation;
    try {
      respond(stream, requestId, toResponse(invocation, outcome), maxMessageBytes);
    } catch (error) {
      respond(stream, requestId, toResponse(invocation, { thrown: error }), maxMessageBytes);
    }
  };

  return ({ requestId, value: request }, stream) => {
    const { invocationId, functionId } = request;
    if (inFlight.find(invocationId)) {
      systemLog(
        'warning',
        `Invocation ${invocationId} of '${functionId}' is already running. The repeated request is ignored.`,
      );
      return;
    }
    const loaded = apps.current.find(functionId);
    if (!loaded || isTerminating()) {
      const error = loaded ? new SystemError('The worker is terminating.') : notLoaded(functionId, parts.loader);
      respond(stream, requestId, { invocationId, result: failure(error) }, maxMessageBytes);
      return;
    }
    const invocation = new Invocation(request, { requestId, loaded, stream, logs });
    inFlight.add(invocation);
    void run(invocation);
  };
}

function notLoaded(functionId: string, { problem }: AppLoader): SystemError {
  const why = problem ? ` ${problem.message}` : '';
  return new SystemError(`Function code for '${functionId}' is not loaded and cannot be invoked.${why}`);
}

function toResponse(invocation: Invocation, outcome: Outcome): InvocationResponseInit {
  const { invocationId } = invocation;
  if ('thrown' in outcome) return { invocationId, result: invocation.resultOf(outcome.thrown) };
  return toInvocationResponse(invocationId, outcome.response, success);
}

/** Sends a response, or a failure in its place when it is too large: the host would close the stream for it. */
function respond(stream: HostStream, requestId: string, value: InvocationResponseInit, maxMessageBytes: number): void {
  const message: StreamingMessageInit = { kind: 'invocationResponse', requestId, value };
  if (approximateBytes(value) < Math.min(uncheckedBytes, maxMessageBytes / 4)) {
    stream.send(message);
    return;
  }
  const bytes = encodeStreamingMessage(message);
  if (bytes.length <= maxMessageBytes) {
    stream.sendEncoded(bytes);
    return;
  }
  const { invocationId } = value;
  const reason = `The response has ${bytes.length} bytes; the host accepts at most ${maxMessageBytes}. Return a smaller response.`;
  const result = failure(new SystemError(reason));
  stream.send({ kind: 'invocationResponse', requestId, value: { invocationId, result } });
}

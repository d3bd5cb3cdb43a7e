import { runtimeCalls } from '@drover/contracts';
import { capability, hasCapability, type RpcTraceContextInit } from '@drover/function-rpc';
import { continueTrace, toTraceparent } from '@drover/service-kit';
import { deliveryInputs } from '../bindings/delivery-inputs.js';
import { httpBindingData, httpInputs } from '../bindings/http-inputs.js';
import { noWorker } from '../errors.js';
import { adminCallRefused, requestsThrottled, serverDraining } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import type { HttpApplication } from '../routes/http-application.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import type { ServeOptions } from '../exchanges/serve-options.js';
import { answerOf, callFailed } from './call-failed.js';
import { parseJson, readCall, writeCallAnswer, type Call } from './call-frame.js';
import { answeredOutput, returnedOutput, withColdStart, type CallOutput } from './call-output.js';
import { toCallRequest, type CallRequest } from './call-request.js';
import type { CallableFunction } from '../routes/callable-functions.js';
import { callThroughStream } from './streamed-call.js';

/**
 * Runs a function with any trigger for the control plane and writes its result. The invocation is cancelled when the caller
 * disconnects: that is how timeouts of callers arrive here. A timeout of the runtime would recycle the worker.
 */
export async function serveCall(
  exchange: Exchange,
  application: HttpApplication,
  callable: CallableFunction,
  options: ServeOptions,
): Promise<void> {
  const { headers } = exchange.request;
  const read = exchange.readBody(options.bodies);
  const call = readCall(headers, Buffer.isBuffer(read) ? read : await read);
  if (!call)
    throw new Refused(
      adminCallRefused({ problem: 'The head of the call does not match its length header. Correct the caller.' }),
    );
  const trace = (exchange.trace = continueTrace(textOf(headers['traceparent']), options.randomness));
  const context = { traceParent: toTraceparent(trace), traceState: textOf(headers['tracestate']) ?? '' };
  const { route } = callable;
  const output = route
    ? await throughGate(exchange, application, () =>
        request(exchange, application, callable, toCallRequest(headers, call, route, context), options),
      )
    : await deliver(exchange, application, callable, call, context);
  writeCallAnswer(exchange, output.head, output.json);
}

/** The request limits of host.json apply to calls too. */
async function throughGate<T>({ signal }: Exchange, { gate }: HttpApplication, run: () => Promise<T>): Promise<T> {
  const entered = gate.enter(signal);
  if (!(typeof entered === 'boolean' ? entered : await entered))
    throw new Refused(signal.aborted ? serverDraining({}) : requestsThrottled({ limit: gate.limit }));
  try {
    return await run();
  } finally {
    gate.leave();
  }
}

async function request(
  exchange: Exchange,
  application: HttpApplication,
  { definition }: CallableFunction,
  made: CallRequest,
  options: ServeOptions,
): Promise<CallOutput> {
  // The first worker of an application at zero may stream.
  if (application.streamsHttp() || application.firstWorker())
    return callThroughStream(exchange, application, definition, made, options);
  const outcome = await application.invoker.invoke({
    definition,
    inputs: (capabilities) => {
      // A streaming worker became ready after the check above: the next attempt streams.
      if (hasCapability(capabilities, capability.httpUri)) throw noWorker({ functionName: definition.name });
      return httpInputs(definition.trigger, made.triggered, capabilities);
    },
    bindingData: () => httpBindingData(made.triggered),
    messageId: made.executionId,
    trace: made.trace,
    signal: exchange.signal,
  });
  if (outcome.kind !== 'succeeded') throw callFailed(definition.name, outcome);
  return withColdStart(answeredOutput(answerOf(definition, outcome.response)), outcome);
}

async function deliver(
  exchange: Exchange,
  { invoker }: HttpApplication,
  { definition, triggerType }: CallableFunction,
  { payload, isJson, metadata }: Call,
  trace: RpcTraceContextInit,
): Promise<CallOutput> {
  const { headers } = exchange.request;
  const data = isJson ? textInput(payload) : payload;
  const attempt = Number(headers[runtimeCalls.attemptHeader] ?? 1) || 1;
  // The metadata of a queue message.
  const known = triggerType === 'queuetrigger' && {
    ...(typeof data === 'string' && { QueueTrigger: data }),
    DequeueCount: attempt,
    Id: textOf(headers[runtimeCalls.executionIdHeader]) ?? '',
  };
  const { inputs, bindingData } = deliveryInputs(definition.trigger, {
    data,
    metadata: { ...metadata, ...known },
    deliveryCount: attempt,
    traceparent: undefined,
  });
  const messageId = textOf(headers[runtimeCalls.executionIdHeader]);
  const outcome = await invoker.invoke({ definition, inputs, bindingData, messageId, trace, signal: exchange.signal });
  if (outcome.kind !== 'succeeded') throw callFailed(definition.name, outcome);
  return withColdStart(returnedOutput(outcome.response.returnValue), outcome);
}

/** The payload as trigger text: a JSON string is unquoted, other JSON stays as it is. */
function textInput(payload: Buffer): string {
  const text = payload.toString('utf8');
  if (!text.startsWith('"')) return text;
  const parsed = parseJson(text);
  return typeof parsed === 'string' ? parsed : text;
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

import { capability, hasCapability } from '@drover/function-rpc';
import { continueTrace, toTraceparent } from '@drover/service-kit';
import { readClientPrincipal, stripClientPrincipal } from '../bindings/client-principal.js';
import { httpAnswer } from '../bindings/http-answer.js';
import { httpBindingData, httpInputs, type HttpTriggerRequest } from '../bindings/http-inputs.js';
import { hasOutputs } from '../bindings/outputs.js';
import type { InvocationOutcome } from '../invocations/invocation-call.js';
import { hostOf, schemeOf } from '../exchanges/caller-address.js';
import { bodyStreamedAway, requestBodyTooLarge } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import type { HttpApplication } from '../routes/http-application.js';
import { toRefusal, Refused } from '../exchanges/outcome-refusal.js';
import { announcedLength, hasBody } from '../exchanges/read-body.js';
import { parseQuery } from '../routes/request-target.js';
import type { RouteMatch } from '../routes/route-table.js';
import type { ServeOptions } from '../exchanges/serve-options.js';
import { StreamedInvocation } from '../exchanges/streamed-invocation.js';
import { writeAnswer } from '../exchanges/write-answer.js';

/** Bodies up to this size are buffered even if workers stream, so that any worker can run the request. */
const smallBodyBytes = 65_536;

/** Runs the function of a route and writes its answer. Throws Refused, or an unexpected error. */
export async function serveFunction(
  exchange: Exchange,
  application: HttpApplication,
  match: RouteMatch,
  options: ServeOptions,
): Promise<void> {
  const { request } = exchange;
  if (!options.trustsClientPrincipal) stripClientPrincipal(request.headers);
  if (hasBody(request) && isLarge(request)) await application.firstWorker()?.(exchange.signal);
  const streamsHttp = application.streamsHttp();
  const read = hasBody(request) ? takeBody(exchange, streamsHttp, application, options) : undefined;
  const body = read instanceof Promise ? await read : read;
  const taken: Taken = { body, streamed: streamsHttp ? new StreamedInvocation(exchange, options) : undefined };
  const { definition } = match.route;
  try {
    const running = invoke(exchange, application, match, taken, options);
    const outcome = await (taken.streamed ? taken.streamed.outcomeOf(running) : running);
    if (taken.streamed?.isAnswering && (await taken.streamed.settle(outcome, definition))) return;
    if (outcome.kind !== 'succeeded') throw toRefusal(outcome);
    writeAnswer(exchange, httpAnswer(definition, outcome.response));
  } finally {
    taken.streamed?.end();
  }
}

type Body = Buffer | undefined | 'streamed';

interface Taken {
  readonly body: Body;
  /** Created up front if workers are known to stream; otherwise when a streaming worker is assigned. */
  streamed: StreamedInvocation | undefined;
}

function invoke(
  exchange: Exchange,
  { invoker, bodyLimitBytes }: HttpApplication,
  { route: { definition }, parameters }: RouteMatch,
  taken: Taken,
  options: ServeOptions,
): Promise<InvocationOutcome> {
  const { body } = taken;
  const { headers } = exchange.request;
  const trace = (exchange.trace = continueTrace(headerOf(exchange, 'traceparent'), options.randomness));
  const host = hostOf(headers, options.trustsForwarded);
  const scheme = schemeOf(headers, options.trustsForwarded);
  const triggered: HttpTriggerRequest = {
    method: exchange.method,
    url: `${scheme}://${host}${urlOf(exchange)}`,
    headers,
    query: parseQuery(exchange.target.query),
    params: parameters,
    body: body === 'streamed' ? undefined : body,
    identities: options.trustsClientPrincipal ? readClientPrincipal(headers) : [],
  };
  return invoker.invoke({
    definition,
    inputs: (capabilities) => {
      if (body === 'streamed' && !hasCapability(capabilities, capability.httpUri)) throw bodyStreamedAway({});
      return httpInputs(definition.trigger, triggered, capabilities);
    },
    bindingData: () => httpBindingData(triggered),
    trace: { traceParent: toTraceparent(trace), traceState: headerOf(exchange, 'tracestate') ?? '' },
    signal: taken.streamed?.signal ?? exchange.signal,
    onAssigned: (assigned) => {
      if (!hasCapability(assigned.capabilities, capability.httpUri)) return;
      taken.streamed ??= new StreamedInvocation(exchange, options);
      taken.streamed.begin(assigned, {
        host,
        scheme,
        body,
        bodyLimitBytes: bodyLimitBytes ?? options.bodies.bytes,
        holdsAnswer: hasOutputs(definition),
      });
    },
  });
}

/** Reads the body, or returns `streamed` if it is left on the connection for a streaming worker. */
function takeBody(
  exchange: Exchange,
  streamsHttp: boolean,
  { bodyLimitBytes }: HttpApplication,
  { bodies }: ServeOptions,
): Body | Promise<Body> {
  const length = announcedLength(exchange.request);
  const isStreamed = streamsHttp && isLarge(exchange.request);
  const allowedBytes = bodyLimitBytes ?? bodies.bytes;
  const limitBytes = isStreamed ? allowedBytes : Math.min(allowedBytes, bodies.bufferedBytes);
  if (length !== undefined && length > limitBytes) throw new Refused(requestBodyTooLarge({ limitBytes }));
  return isStreamed ? 'streamed' : exchange.readBody(bodies, limitBytes);
}

/** Whether a body is left to a streaming worker, if there is one. */
function isLarge(request: Parameters<typeof announcedLength>[0]): boolean {
  const length = announcedLength(request);
  return length === undefined || length > smallBodyBytes;
}

function urlOf({ request, target }: Exchange): string {
  const { url = '/' } = request;
  return url.startsWith('/') ? url : `${target.path}${target.query === '' ? '' : `?${target.query}`}`;
}

function headerOf({ request }: Exchange, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

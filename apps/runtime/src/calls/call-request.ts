import type { IncomingHttpHeaders } from 'node:http';
import { runtimeCalls } from '@drover/contracts';
import type { RpcTraceContextInit } from '@drover/function-rpc';
import { stripClientPrincipal } from '../bindings/client-principal.js';
import type { HttpTriggerRequest } from '../bindings/http-inputs.js';
import { isGoodHost } from '../exchanges/caller-address.js';
import { adminCallRefused } from '../exchanges/errors.js';
import { Refused } from '../exchanges/outcome-refusal.js';
import { parseJson, type Call } from './call-frame.js';
import type { CallRoute } from '../routes/call-route.js';

/** The HTTP request that is built for a call of a function with an HTTP trigger. */
export interface CallRequest {
  readonly triggered: HttpTriggerRequest;
  readonly host: string;
  readonly address: string;
  readonly body: Buffer | undefined;
  readonly trace: RpcTraceContextInit;
  /** The same for all attempts of an execution. */
  readonly executionId: string | undefined;
}

/** `ours`: the headers of the call itself. */
export function toCallRequest(
  ours: IncomingHttpHeaders,
  call: Call,
  route: CallRoute,
  trace: RpcTraceContextInit,
): CallRequest {
  const { payload, isJson, metadata } = call;
  const target = route.target({ metadata, input: () => (isJson ? parseJson(payload.toString('utf8')) : undefined) });
  if ('problem' in target) throw new Refused(adminCallRefused({ problem: target.problem }));
  const { method, address, query, params, hasBody } = target;
  const given = call.headers['host'];
  const host = given !== undefined && isGoodHost(given) ? given : (ours.host ?? 'localhost');
  const headers: IncomingHttpHeaders = { ...call.headers, host };
  stripClientPrincipal(headers);
  for (const name of passedOn) {
    const value = ours[name];
    if (value !== undefined) headers[name] = value;
  }
  delete headers['content-length'];
  if (hasBody) {
    headers['content-length'] = String(payload.byteLength);
    // The type of binary input is known to the caller only.
    if (isJson) headers['content-type'] = 'application/json';
    else headers['content-type'] ??= runtimeCalls.bytesType;
  }
  const body = hasBody ? payload : undefined;
  const url = `http://${host}${address}`;
  const triggered = { method, url, headers, query, params, body, identities: [] };
  const id = ours[runtimeCalls.executionIdHeader];
  return { triggered, host, address, body, trace, executionId: typeof id === 'string' ? id : undefined };
}

/** Headers about the call that are passed on to the function. */
const passedOn = [
  'traceparent',
  'tracestate',
  runtimeCalls.executionIdHeader,
  runtimeCalls.attemptHeader,
  runtimeCalls.timeoutHeader,
  runtimeCalls.traceIdHeader,
] as const;

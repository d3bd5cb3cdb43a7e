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

/** A request for an HTTP function that nobody sent as such. */
export interface CallRequest {
  readonly triggered: HttpTriggerRequest;
  readonly host: string;
  readonly address: string;
  readonly body: Buffer | undefined;
  readonly trace: RpcTraceContextInit;
}

/** `ours`: the headers that the call itself came with. */
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
    // Only who sent bytes knows what they are.
    if (isJson) headers['content-type'] = 'application/json';
    else headers['content-type'] ??= runtimeCalls.bytesType;
  }
  const body = hasBody ? payload : undefined;
  const url = `http://${host}${address}`;
  return { triggered: { method, url, headers, query, params, body, identities: [] }, host, address, body, trace };
}

/** What the control plane says about a call, for whoever wants to know. */
const passedOn = [
  'traceparent',
  'tracestate',
  runtimeCalls.executionIdHeader,
  runtimeCalls.attemptHeader,
  runtimeCalls.timeoutHeader,
  runtimeCalls.traceIdHeader,
] as const;

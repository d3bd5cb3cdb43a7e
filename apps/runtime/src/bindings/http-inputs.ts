import type { IncomingHttpHeaders } from 'node:http';
import {
  capability,
  hasCapability,
  type NullableStringInit,
  type RpcClaimsIdentityInit,
  type RpcHttpInit,
  type TypedDataInit,
} from '@drover/function-rpc';
import type { Binding } from '../applications/function-definition.js';
import type { BindingData } from './binding-expressions.js';
import type { InvocationInputs, WorkerCapabilities } from './invocation-inputs.js';
import { NullRecord } from './null-record.js';

/** The HTTP request that triggers a function. */
export interface HttpTriggerRequest {
  readonly method: string;
  /** Absolute, with its query. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly query: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  /** Undefined without a body. */
  readonly body: Uint8Array | undefined;
  readonly identities: readonly RpcClaimsIdentityInit[];
}

/** Encodes a request for the capabilities of a worker. */
export function httpInputs(
  trigger: Binding,
  request: HttpTriggerRequest,
  capabilities: WorkerCapabilities,
): InvocationInputs {
  // A worker with its own HTTP server gets the request there; these inputs only announce the invocation.
  const data = hasCapability(capabilities, capability.httpUri)
    ? streamedRequest(request, capabilities)
    : { http: wholeRequest(request, capabilities) };
  const triggerMetadata = new NullRecord<TypedDataInit>();
  triggerMetadata['Headers'] = { json: headersToJson(request.headers) };
  triggerMetadata['Query'] = { json: queryToJson(request.query) };
  for (const name of Object.keys(request.params))
    if (!(name in triggerMetadata)) triggerMetadata[name] = { string: request.params[name] };
  if (!hasCapability(capabilities, capability.rpcHttpTriggerMetadataRemoved)) triggerMetadata[trigger.name] ??= data;
  return { inputData: [{ name: trigger.name, data }], triggerMetadata };
}

function streamedRequest({ params }: HttpTriggerRequest, capabilities: WorkerCapabilities): TypedDataInit {
  if (!hasCapability(capabilities, capability.requiresRouteParameters)) return { http: {} };
  return hasCapability(capabilities, capability.useNullableValueDictionaryForHttp)
    ? { http: { nullableParams: toNullable(params) } }
    : { http: { params } };
}

function wholeRequest(request: HttpTriggerRequest, capabilities: WorkerCapabilities): RpcHttpInit {
  const { method, url, headers, query, params, identities, body } = request;
  const { body: written, rawBody } =
    body && body.byteLength > 0 ? bodyOf(body, headers['content-type'], capabilities) : noBody;
  if (hasCapability(capabilities, capability.useNullableValueDictionaryForHttp))
    return {
      method,
      url,
      identities,
      nullableHeaders: toNullableHeaders(headers),
      nullableQuery: toNullable(query),
      nullableParams: toNullable(params),
      body: written,
      rawBody,
    };
  return {
    method,
    url,
    identities,
    headers: toPlainHeaders(headers, hasCapability(capabilities, capability.ignoreEmptyValuedRpcHttpHeaders)),
    query: withoutEmpty(query),
    params,
    body: written,
    rawBody,
  };
}

type WrittenBody = { readonly body: TypedDataInit | undefined; readonly rawBody: TypedDataInit | undefined };

const noBody: WrittenBody = { body: undefined, rawBody: undefined };

function bodyOf(bytes: Uint8Array, contentType: string | undefined, capabilities: WorkerCapabilities): WrittenBody {
  const isRaw = hasCapability(capabilities, capability.rawHttpBodyBytes);
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  const isBinary = mediaType === 'application/octet-stream' || mediaType.startsWith('multipart/');
  if (hasCapability(capabilities, capability.rpcHttpBodyOnly))
    return { body: isRaw || isBinary ? { bytes } : { string: toText(bytes) }, rawBody: undefined };
  const rawBody = isRaw ? { bytes } : { string: toText(bytes) };
  if (isBinary) return { body: { bytes }, rawBody };
  const text = toText(bytes);
  return { body: mediaType === 'application/json' && isJson(text) ? { json: text } : { string: text }, rawBody };
}

/** The data for expressions of output bindings: headers, query, route parameters and properties of a JSON body. */
export function httpBindingData({ headers, query, params, body }: HttpTriggerRequest): BindingData {
  const fromBody = body && body.byteLength > 0 ? parseObject(toText(body)) : {};
  const named = withoutKey(query);
  return { ...fromBody, ...named, ...params, headers, query: named };
}

function headersToJson(headers: IncomingHttpHeaders): string {
  // Only set-cookie can be a list. A replacer for all headers would cost more than the rest of this function.
  const { 'set-cookie': cookies } = headers;
  return JSON.stringify(cookies === undefined ? headers : { ...headers, 'set-cookie': cookies.join(', ') });
}

function toNullableHeaders(headers: IncomingHttpHeaders): Record<string, NullableStringInit> {
  const nullable = new NullRecord<NullableStringInit>();
  for (const name of Object.keys(headers)) nullable[name] = { value: headerText(headers[name]) };
  return nullable;
}

function toPlainHeaders(headers: IncomingHttpHeaders, dropsEmpty: boolean): Record<string, string> {
  const plain = new NullRecord<string>();
  for (const name of Object.keys(headers)) {
    const value = headerText(headers[name]);
    if (value !== '' || !dropsEmpty) plain[name] = value;
  }
  return plain;
}

function headerText(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : (value?.join(', ') ?? '');
}

function toNullable(values: Readonly<Record<string, string>>): Record<string, NullableStringInit> {
  const nullable = new NullRecord<NullableStringInit>();
  for (const name of Object.keys(values)) nullable[name] = { value: values[name] };
  return nullable;
}

function withoutEmpty(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
}

function queryToJson(query: Readonly<Record<string, string>>): string {
  return Object.keys(query).length === 0 ? '{}' : JSON.stringify(withoutKey(query));
}

/** Removes the function key from the query. */
function withoutKey(query: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (!('code' in query)) return query;
  return Object.fromEntries(Object.entries(query).filter(([name]) => name !== 'code'));
}

function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parseObject(text: string): BindingData {
  if (!text.trimStart().startsWith('{')) return {};
  try {
    return JSON.parse(text) as BindingData; // starts with a brace, so it is an object
  } catch {
    return {};
  }
}

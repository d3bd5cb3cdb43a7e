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

/** An HTTP request on its way to a function. */
export interface HttpTriggerRequest {
  readonly method: string;
  /** Absolute, with its query. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  readonly query: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  /** Undefined: it has none. */
  readonly body: Uint8Array | undefined;
  readonly identities: readonly RpcClaimsIdentityInit[];
}

/** What a worker gets of a request, in the form it said it takes. */
export function httpInputs(
  trigger: Binding,
  request: HttpTriggerRequest,
  capabilities: WorkerCapabilities,
): InvocationInputs {
  // A worker with a server of its own gets the request there; this only says which invocation it belongs to.
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

/** What expressions of output bindings may name: parts of the request, then its values by themselves. */
export function httpBindingData({ headers, query, params, body }: HttpTriggerRequest): BindingData {
  const fromBody = body && body.byteLength > 0 ? parseObject(toText(body)) : {};
  const named = withoutKey(query);
  return { ...fromBody, ...named, ...params, headers, query: named };
}

function headersToJson(headers: IncomingHttpHeaders): string {
  // The only one that may be a list; a replacer for all would take longer than everything else here.
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

/** A function key is nobody's data. */
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
    return JSON.parse(text) as BindingData; // begins with a brace, so it is an object
  } catch {
    return {};
  }
}

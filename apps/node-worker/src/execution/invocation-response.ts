import {
  RpcHttpCookieSameSite,
  type InvocationResponseInit,
  type ParameterBindingInit,
  type RpcHttpCookieInit,
  type StatusResultInit,
  type TypedDataInit,
} from '@drover/function-rpc';
import type { CoreInvocationResponse } from '../loading/functions-core.js';

const sameSites: Readonly<Record<string, number>> = {
  none: RpcHttpCookieSameSite.None,
  lax: RpcHttpCookieSameSite.Lax,
  strict: RpcHttpCookieSameSite.Strict,
  explicitNone: RpcHttpCookieSameSite.ExplicitNone,
};

/** Converts the response of a programming model to the protocol. Copies only what has to change. */
export function toInvocationResponse(
  invocationId: string,
  made: CoreInvocationResponse,
  result: StatusResultInit,
): InvocationResponseInit {
  return { invocationId, outputData: toOutputs(made.outputData), returnValue: toTypedData(made.returnValue), result };
}

function toOutputs(outputs: CoreInvocationResponse['outputData']): readonly ParameterBindingInit[] | null | undefined {
  if (!outputs || outputs.length === 0) return outputs;
  return outputs.map(({ name, data }) => ({ name, data: toTypedData(data) }));
}

function toTypedData(data: TypedDataInit | null | undefined): TypedDataInit | null | undefined {
  if (data?.http?.cookies && data.http.cookies.length > 0) {
    return { http: { ...data.http, cookies: data.http.cookies.map(toCookie) } };
  }
  // Libraries send every whole number as int, including those that do not fit.
  if (typeof data?.int === 'number' && !Number.isSafeInteger(data.int)) return { double: data.int };
  return data;
}

function toCookie(cookie: RpcHttpCookieInit): RpcHttpCookieInit {
  const sameSite: unknown = cookie.sameSite;
  return typeof sameSite === 'string' ? { ...cookie, sameSite: sameSites[sameSite] ?? 0 } : cookie;
}

/** Estimates the bytes of a response without names and headers. The actual size is never much larger. */
export function approximateBytes(response: InvocationResponseInit): number {
  let bytes = typedDataBytes(response.returnValue);
  for (const { data } of response.outputData ?? []) bytes += typedDataBytes(data);
  return bytes;
}

function typedDataBytes(data: TypedDataInit | null | undefined): number {
  if (!data) return 0;
  if (data.http) return typedDataBytes(data.http.body);
  return data.string?.length ?? data.json?.length ?? data.bytes?.length ?? data.stream?.length ?? 0;
}

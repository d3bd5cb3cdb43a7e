import { fromHandlerValue, type ParameterBindingInit, type TypedDataInit } from '@drover/function-rpc';
import type { CoreBinding } from '../../loading/functions-core.js';
import { SystemError } from '../../loading/system-errors.js';
import { toRpcCookie } from '../rpc-cookie.js';

/** Where a v3 function may have put its outputs. */
export interface LegacyResults {
  /** The returned value, or the one passed to `context.done`. */
  readonly result: unknown;
  readonly bindings: Readonly<Record<string, unknown>> | undefined;
  readonly res: unknown;
}

export interface LegacyOutputs {
  readonly outputData: readonly ParameterBindingInit[];
  readonly returnValue?: TypedDataInit | undefined;
}

const returnName = '$return';

/**
 * Collects the outputs of a v3 function. The result goes to the `$return` binding, if there is one. Otherwise its properties
 * go to the outputs of the same names and take precedence over `context.bindings`. `context.res` is the HTTP output unless
 * that was set by name.
 */
export function collectOutputs(
  definitions: Readonly<Record<string, CoreBinding>>,
  { result, bindings, res }: LegacyResults,
): LegacyOutputs {
  const outputs = Object.entries(definitions).filter(([, { direction }]) => direction !== 'in');
  const named = propertiesOf(result);
  const hasReturn = outputs.some(([name]) => name === returnName);
  const outputData: ParameterBindingInit[] = [];
  let returnValue: TypedDataInit | undefined;
  for (const [name, binding] of outputs) {
    if (name === returnName) {
      // A function may set context.res instead of returning a response.
      const value = isSet(result, definitions) ? result : (bindings?.[name] ?? (isHttp(binding) ? res : undefined));
      returnValue = value === undefined ? undefined : convert(binding, value);
      continue;
    }
    const fallback = bindings?.[name] === undefined && isHttp(binding) ? res : bindings?.[name];
    const value = !hasReturn && named[name] !== undefined ? named[name] : fallback;
    if (value !== undefined && value !== null) outputData.push({ name, data: convert(binding, value) });
  }
  const isClaimed = hasReturn || outputs.some(([name]) => named[name] !== undefined);
  const isUnclaimed = !isClaimed && isSet(result, definitions) && !hasHttpTrigger(definitions);
  return { outputData, returnValue: isUnclaimed ? fromHandlerValue(result) : returnValue };
}

/** Falsy results are ignored, except those of durable activities. */
function isSet(result: unknown, definitions: Readonly<Record<string, CoreBinding>>): boolean {
  const isActivity = Object.values(definitions).some(({ type }) => type === 'activityTrigger');
  return isActivity ? result !== null && result !== undefined : Boolean(result);
}

function propertiesOf(result: unknown): Readonly<Record<string, unknown>> {
  return typeof result === 'object' && result !== null ? { ...result } : {};
}

function isHttp({ type }: CoreBinding): boolean {
  return type?.toLowerCase() === 'http';
}

function hasHttpTrigger(definitions: Readonly<Record<string, CoreBinding>>): boolean {
  return Object.values(definitions).some(({ type }) => type?.toLowerCase() === 'httptrigger');
}

function convert(binding: CoreBinding, value: unknown): TypedDataInit | undefined {
  return isHttp(binding) ? toHttp(value) : fromHandlerValue(value);
}

function toHttp(value: unknown): TypedDataInit {
  if (!isHttpResponse(value)) {
    throw new SystemError(
      "The HTTP response must be an 'object' type that can include properties such as 'body', 'status', and 'headers'. " +
        'Learn more: https://go.microsoft.com/fwlink/?linkid=2112563',
    );
  }
  const { statusCode, status, headers, cookies, body, enableContentNegotiation } = value;
  // `status` may be the method of LegacyResponse or a value that replaced it.
  const code = statusCode ?? status;
  return {
    http: {
      statusCode: typeof code === 'number' || typeof code === 'string' ? String(code) : '',
      headers: toHeaders(headers),
      cookies: Array.isArray(cookies) ? cookies.map(toRpcCookie) : [],
      body: body === null ? { json: 'null' } : fromHandlerValue(body),
      enableContentNegotiation: enableContentNegotiation === true,
    },
  };
}

function isHttpResponse(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toHeaders(headers: unknown): Record<string, string> {
  const entries = Object.entries(typeof headers === 'object' && headers !== null ? headers : {});
  const set = entries.filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

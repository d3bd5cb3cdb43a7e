import type { CorsPolicy } from '@drover/http-edge';
import type { Webhook } from '@drover/trigger-sources';
import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import type { HttpOptions } from '../applications/host-json-schema.js';
import type { Invoker } from '../invocations/invocation-call.js';
import type { AdminHost } from './admin-host.js';
import { callableFunctions, type CallableFunction } from './callable-functions.js';
import type { FunctionKeys } from './function-keys.js';
import { RequestGate } from './request-gate.js';
import { RouteTable } from './route-table.js';

/** The part of a request by which its application is found. */
export interface RequestLine {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: { readonly 'access-control-request-method'?: string | undefined };
}

/** A state of an application that the control plane has stored. */
export interface ServedState {
  /** `tenant/application`. */
  readonly name: string;
  readonly generation: number;
  /** It is being removed. */
  readonly removed: boolean;
}

/** The applications that the HTTP server serves. */
export interface HttpApplications {
  /** Returns the application of a request. On the hot path of every request. */
  resolve(request: RequestLine): HttpApplication | undefined;
  /** Returns the application `tenant/application` in the version that has a function, for a call of it. */
  named(name: string, functionName: string): HttpApplication | undefined;
  /** Returns a promise while it is not known yet which applications there are, as after a restart; undefined once it is. */
  untilKnown?(): Promise<void> | undefined;
  /** Resolves when calls are served as a stored state says, or once `signal` has aborted with what is missing. */
  untilServed?(state: ServedState, signal: AbortSignal): Promise<string | undefined>;
  /** All applications in their current version. */
  all(): readonly HttpApplication[];
  /** The applications of which no call is served now, each with the reason. */
  problems(): readonly { readonly application: string; readonly problem: string }[];
}

/** One application as the HTTP server sees it. */
export interface HttpApplication {
  /** Name in observations: `tenant/application`. */
  readonly name: string;
  readonly routes: RouteTable;
  /** Functions that the control plane can call, by lower-case name. */
  readonly callable: ReadonlyMap<string, CallableFunction>;
  readonly invoker: Invoker;
  readonly keys: FunctionKeys;
  /** False: no call needs a key, as on a developer's machine. */
  readonly requiresKeys: boolean;
  readonly cors: CorsPolicy | undefined;
  readonly gate: RequestGate;
  /** Headers of every response of a function; names and values alternate. */
  readonly customHeaders: readonly string[];
  readonly hsts: Hsts | undefined;
  /**
   * Whether its workers have their own HTTP servers (HttpUri): then large bodies are streamed to them. On the hot path of every
   * request.
   */
  readonly streamsHttp: () => boolean;
  /**
   * Undefined while the application has a worker, and for one that is never parked. Otherwise wakes it: resolves when a worker is
   * ready, or waiting is hopeless. Only a worker shows whether bodies are streamed.
   */
  readonly firstWorker: () => ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Estimates when a function worker is ready again; 0 while one is. */
  readonly readyInMs: () => number;
  /** Of a request body; undefined: that of the server. */
  readonly bodyLimitBytes: number | undefined;
  readonly admin: AdminHost | undefined;
  /** Returns the handler of `/runtime/webhooks/<name>`. */
  readonly webhook: (name: string) => Webhook | undefined;
  /** Returns the name of the webhook that a function has. */
  readonly webhookOf: (functionName: string) => string | undefined;
}

interface Hsts {
  readonly value: string;
  readonly excludedHosts: ReadonlySet<string>;
}

export interface HttpApplicationParts {
  readonly name: string;
  readonly functions: readonly FunctionDefinition[];
  readonly options: HttpOptions;
  readonly invoker: Invoker;
  readonly keys: FunctionKeys;
  readonly requiresKeys: boolean;
  readonly cors?: CorsPolicy | undefined;
  readonly streamsHttp?: () => boolean;
  readonly firstWorker?: HttpApplication['firstWorker'] | undefined;
  readonly readyInMs?: () => number;
  readonly bodyLimitBytes?: number | undefined;
  readonly admin?: AdminHost | undefined;
  readonly webhooks?: ReadonlyMap<string, Webhook> | undefined;
}

/** Paths of the runtime, which no function may use as its route. */
export const hostPaths: ReadonlySet<string> = new Set(['healthz', 'readyz', 'metrics']);

/** Prepares everything about an application that is the same for all requests. */
export function createHttpApplication(parts: HttpApplicationParts): {
  readonly application: HttpApplication;
  readonly problems: readonly FunctionProblem[];
  readonly warnings: readonly FunctionProblem[];
} {
  const { name, functions, options, invoker, keys, requiresKeys, cors, admin } = parts;
  const webhooks = [...(parts.webhooks ?? [])];
  const { table, problems, warnings } = RouteTable.of(functions, {
    routePrefix: options.routePrefix,
    reserved: hostPaths,
  });
  return {
    application: {
      name,
      routes: table,
      callable: callableFunctions(functions, table),
      invoker,
      keys,
      requiresKeys,
      cors,
      admin,
      webhook: (called) => webhooks.find(([own]) => own.toLowerCase() === called.toLowerCase())?.[1],
      webhookOf: (functionName) => webhooks.find(([, webhook]) => webhook.has(functionName))?.[0],
      gate: new RequestGate(options),
      customHeaders: Object.entries(options.customHeaders).flat(),
      hsts: options.hsts.isEnabled ? toHsts(options.hsts) : undefined,
      streamsHttp: parts.streamsHttp ?? (() => false),
      firstWorker: parts.firstWorker ?? (() => undefined),
      readyInMs: parts.readyInMs ?? (() => 0),
      bodyLimitBytes: parts.bodyLimitBytes,
    },
    problems,
    warnings,
  };
}

function toHsts({ maxAgeMs, includeSubDomains, preload, excludedHosts }: HttpOptions['hsts']): Hsts {
  const value = [
    `max-age=${Math.round(maxAgeMs / 1_000)}`,
    ...(includeSubDomains ? ['includeSubDomains'] : []),
    ...(preload ? ['preload'] : []),
  ];
  return { value: value.join('; '), excludedHosts: new Set(excludedHosts ?? ['localhost', '127.0.0.1', '[::1]']) };
}

import type { FunctionDefinition, FunctionProblem } from '../applications/function-definition.js';
import type { HttpOptions } from '../applications/host-json-schema.js';
import type { CorsOptions } from '../applications/local-settings.js';
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
}

/** Finds the application that a request is for; undefined: none. Called for every request, so it must be quick. */
export interface HttpApplications {
  resolve(request: RequestLine): HttpApplication | undefined;
  /** All that are served, each in its current version. */
  all(): readonly HttpApplication[];
}

/** What the HTTP server has to know about one application. */
export interface HttpApplication {
  /** To be named in observations. */
  readonly name: string;
  readonly routes: RouteTable;
  /** What the control plane may call, by name in lower case. */
  readonly callable: ReadonlyMap<string, CallableFunction>;
  readonly invoker: Invoker;
  readonly keys: FunctionKeys;
  /** False: everybody may call everything, as on a developer's machine. */
  readonly requiresKeys: boolean;
  readonly cors: CorsOptions | undefined;
  readonly gate: RequestGate;
  /** Names and values in turn, on every answer of a function. */
  readonly customHeaders: readonly string[];
  readonly hsts: Hsts | undefined;
  /**
   * Whether its workers are known to take requests on servers of their own (HttpUri): then large bodies are not read here.
   * Asked for every request, so it must be quick.
   */
  readonly streamsHttp: () => boolean;
  readonly admin: AdminHost | undefined;
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
  readonly cors?: CorsOptions | undefined;
  readonly streamsHttp?: () => boolean;
  readonly admin?: AdminHost | undefined;
}

/** Paths of the host: no function may have one of them as its whole path. */
const hostPaths: ReadonlySet<string> = new Set(['healthz', 'readyz', 'health', 'metrics']);

/** Prepares an application for the server: everything that is the same for all requests. */
export function createHttpApplication(parts: HttpApplicationParts): {
  readonly application: HttpApplication;
  readonly problems: readonly FunctionProblem[];
} {
  const { name, functions, options, invoker, keys, requiresKeys, cors, admin } = parts;
  const { table, problems } = RouteTable.of(functions, { routePrefix: options.routePrefix, reserved: hostPaths });
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
      gate: new RequestGate(options),
      customHeaders: Object.entries(options.customHeaders).flat(),
      hsts: options.hsts.isEnabled ? toHsts(options.hsts) : undefined,
      streamsHttp: parts.streamsHttp ?? (() => false),
    },
    problems,
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

import type { ColdStartBreakdown } from '../execution.js';
import type { StoredFunctionIndex } from '../function-index.js';

/**
 * The protocol by which the control plane calls functions of deployed applications on the admin port of a runtime. Both sides
 * import it from here.
 *
 *     GET  /admin/applications                                                          a `RuntimeListing`
 *     GET  /admin/applications/{tenant}/{application}/state?generation=                 waits, then a `RuntimeServedState`
 *     POST /admin/applications/{tenant}/{application}/functions/{function}/invoke       runs one and waits for its result
 *     GET  /admin/keys                                                                  a `RuntimeKeys`
 *     POST /admin/indexes                                                               a `RuntimeIndexRequest`: a `RuntimeIndexAnswer`
 *
 * The body of a call starts with a small JSON object (`RuntimeCallHead`) of as many bytes as `headBytesHeader` says (none if it is
 * absent), followed by the unchanged input. A response with status 200 is the same, with a `RuntimeAnswerHead` and the output.
 * So neither side parses or serializes a payload, and headers of the customer never collide with headers of the protocol.
 * On one machine, calls share a connection: `FramedCalls` of http-edge carries the same requests and responses in frames.
 */
export const runtimeCalls = {
  applicationsPath: '/admin/applications',
  keysPath: '/admin/keys',
  indexesPath: '/admin/indexes',
  headBytesHeader: 'x-drover-head-bytes',
  /** Azure's header for function keys; carries the runtime's master key. */
  keyHeader: 'x-functions-key',
  executionIdHeader: 'x-execution-id',
  attemptHeader: 'x-dispatch-attempt',
  timeoutHeader: 'x-timeout-ms',
  traceIdHeader: 'x-trace-id',
  /** Type of inputs that are not JSON: sent as bytes, passed to the function as base64 in JSON. */
  bytesType: 'application/octet-stream',
  /** Error code if the application is not served, which may change later, unlike a function that it does not contain. */
  applicationNotFound: 'APPLICATION_NOT_FOUND',
  /** Error code if no function has the path and the method of a request. */
  functionNotFound: 'FUNCTION_NOT_FOUND',
  /** Error code if the worker that had the call was lost: the function may have run. */
  workerLost: 'RUNTIME_WORKER_LOST',
  /** Error code if the function has run, but the service of an output did not take it: another attempt may succeed. */
  outputFailed: 'RUNTIME_OUTPUT_FAILED',
} as const;

/** Asks a runtime to index a version that is about to be deployed. The master key is always required: it runs the code. */
export interface RuntimeIndexRequest {
  readonly tenantId: string;
  readonly applicationId: string;
  readonly codeVersion: string;
  /** Absolute; the runtime and its workers must be able to read it. */
  readonly directory: string;
  /** Of the deployment; they take precedence over those of the folder. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * - indexed: at least one function can run. `index.problems` has those that do not, such as a function whose file throws
 * - refused: nothing can run, or a configuration file has errors; each problem names the file or function
 */
export type RuntimeIndexAnswer =
  | { readonly kind: 'indexed'; readonly index: StoredFunctionIndex; readonly warnings: readonly string[] }
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

/** The object before the input of a call. */
export interface RuntimeCallHead {
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Headers of the request to the control plane, in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The object before the output; absent if all of it is empty. */
export interface RuntimeAnswerHead {
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly encoding?: 'base64';
  /** Set if the call waited for a function worker. */
  readonly coldStartMs?: ColdStartBreakdown;
}

/** The functions that a runtime serves. */
export interface RuntimeListing {
  readonly applications: readonly {
    /** `tenant/application`. */
    readonly name: string;
    readonly functions: readonly RuntimeListedFunction[];
  }[];
  /** Applications of which no call is served, each by its name without the tenant and with the reason. */
  readonly problems?: readonly { readonly application: string; readonly problem: string }[];
}

export interface RuntimeListedFunction {
  readonly name: string;
  /** In Azure's spelling: `httpTrigger`. */
  readonly trigger: string;
  readonly isDisabled: boolean;
}

/** Whether calls of an application are served as the control plane has stored it. */
export interface RuntimeServedState {
  /** What is missing after the time that the request gave; absent if nothing is. */
  readonly waitsFor?: string;
}

/** The functions that a runtime serves, with their paths and their keys in clear text. */
export interface RuntimeKeys {
  readonly applications: readonly {
    /** `tenant/application`. */
    readonly name: string;
    /** False: functions are called without keys. */
    readonly requiresKeys: boolean;
    /** Keys for all functions of the application. */
    readonly hostKeys: readonly RuntimeKey[];
    readonly functions: readonly RuntimeKeyedFunction[];
  }[];
}

export interface RuntimeKey {
  readonly name: string;
  readonly value: string;
}

export interface RuntimeKeyedFunction extends RuntimeListedFunction {
  /** Undefined without an HTTP route, and if another application answers at its path. */
  readonly http:
    | {
        /** The route template with its prefix, without a leading slash. */
        readonly path: string;
        /** In upper case; empty: all methods. */
        readonly methods: readonly string[];
        readonly authLevel: 'anonymous' | 'function' | 'system' | 'admin';
      }
    | undefined;
  readonly keys: readonly RuntimeKey[];
}

const { applicationsPath } = runtimeCalls;
const functionsPart = '/functions/';
const invokePart = '/invoke';

/** Returns the path to call a function of an application. */
export function runtimeCallPath(tenantId: string, application: string, functionName: string): string {
  const [tenant, app, name] = [tenantId, application, functionName].map(encodeURIComponent);
  return `${applicationsPath}/${tenant}/${app}${functionsPart}${name}${invokePart}`;
}

export interface RuntimeStateQuery {
  readonly generation: number;
  /** The application is being removed. */
  readonly removed: boolean;
  readonly waitMs: number;
}

const statePart = '/state';

/** Returns the path that waits until an application, `tenant/application`, is served in a generation. */
export function runtimeStatePath(application: string, { generation, removed, waitMs }: RuntimeStateQuery): string {
  const named = application.split('/').map(encodeURIComponent).join('/');
  return `${applicationsPath}/${named}${statePart}?generation=${generation}&removed=${removed}&waitMs=${Math.round(waitMs)}`;
}

/** Returns the application of such a path, still encoded and without its query; undefined for every other path. */
export function readRuntimeStatePath(path: string): string | undefined {
  return /^\/admin\/applications\/([^/]+\/[^/]+)\/state$/.exec(path)?.[1];
}

/** Returns `tenant/application` and the function of such a path, still encoded; undefined for every other path. */
export function readRuntimeCallPath(
  path: string,
): { readonly application: string; readonly functionName: string } | undefined {
  const end = path.length - invokePart.length;
  const at = path.lastIndexOf(functionsPart, end - 1);
  if (at <= applicationsPath.length || !path.startsWith(`${applicationsPath}/`) || !path.endsWith(invokePart))
    return undefined;
  return {
    application: path.slice(applicationsPath.length + 1, at),
    functionName: path.slice(at + functionsPart.length, end),
  };
}

/**
 * How the control plane calls functions of deployed applications: what it sends to the admin port of a runtime, and what comes
 * back. Both sides take it from here.
 *
 *     GET  /admin/applications                                                          a `RuntimeListing`
 *     POST /admin/applications/{tenant}/{application}/functions/{function}/invoke       runs one, and waits for its result
 *
 * A call is a body that begins with a small JSON object about it (`RuntimeCallHead`), as many bytes long as `headBytesHeader`
 * says (none where it is not sent), and goes on with the input as it is; an answer of 200 is the same with a
 * `RuntimeAnswerHead` and the output. So neither side has to take a payload apart, or to write it anew; and what strangers
 * call their headers is never a header of ours.
 */
export const runtimeCalls = {
  applicationsPath: '/admin/applications',
  headBytesHeader: 'x-drover-head-bytes',
  /** Of Azure's own: a key of a function, here the runtime's master key. */
  keyHeader: 'x-functions-key',
  executionIdHeader: 'x-execution-id',
  attemptHeader: 'x-dispatch-attempt',
  timeoutHeader: 'x-timeout-ms',
  traceIdHeader: 'x-trace-id',
  /** Type of inputs that are no JSON: they come as bytes, and go as JSON text of their base64. */
  bytesType: 'application/octet-stream',
  /** Code of the refusal when the application is not served: it may be later, other than a function that it does not have. */
  applicationNotFound: 'APPLICATION_NOT_FOUND',
} as const;

/** What comes before the input of a call. */
export interface RuntimeCallHead {
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Of whoever called the control plane, in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What comes before the output, where there is something to say. */
export interface RuntimeAnswerHead {
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly encoding?: 'base64';
}

/** What a runtime says that it serves. */
export interface RuntimeListing {
  readonly applications: readonly {
    /** `tenant/application`. */
    readonly name: string;
    readonly functions: readonly RuntimeListedFunction[];
  }[];
}

export interface RuntimeListedFunction {
  readonly name: string;
  /** As Azure writes it: `httpTrigger`. */
  readonly trigger: string;
  readonly isDisabled: boolean;
}

const { applicationsPath } = runtimeCalls;
const functionsPart = '/functions/';
const invokePart = '/invoke';

/** Where a function of an application is called. */
export function runtimeCallPath(tenantId: string, application: string, functionName: string): string {
  const [tenant, app, name] = [tenantId, application, functionName].map(encodeURIComponent);
  return `${applicationsPath}/${tenant}/${app}${functionsPart}${name}${invokePart}`;
}

/** What such a path names, `tenant/application` and the function, as it is written there; undefined for every other path. */
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

import Type, { type Static } from 'typebox';
import { literalUnion } from './literal-union.js';
import { defineStates } from './states/define-states.js';

/** A letter, then characters that are valid in host names and file names. Excludes the colon, which precedes a verb in URLs. */
export const functionNamePattern = '^[a-zA-Z][a-zA-Z0-9._-]{0,62}$';

export const FunctionName = Type.String({
  pattern: functionNamePattern,
  maxLength: 63,
  description: 'A letter, then up to 62 letters, digits, dots, underscores and hyphens',
});

/** Where the attempts of a function run. */
export const executionModes = ['LOCAL', 'POOL', 'REMOTE', 'APP'] as const;
export type ExecutionMode = (typeof executionModes)[number];

/** Modes that callers may request: includes the names that other systems use. */
export const requestedExecutionModes = [...executionModes, 'EXTERNAL', 'DEPLOYMENT'] as const;
export type RequestedExecutionMode = (typeof requestedExecutionModes)[number];

export const ExecutionMode = literalUnion(executionModes, {
  description:
    'LOCAL: a handler module on this host, in isolated workers. POOL: POST to `endpointUrl`. REMOTE: one job per attempt. APP: a function of a deployed application',
});
export const RequestedExecutionMode = literalUnion(requestedExecutionModes, {
  description: 'EXTERNAL means POOL; DEPLOYMENT means POOL if `endpointUrl` is set, else REMOTE',
});

const text = (maxLength: number, description: string) =>
  // Stored in PostgreSQL, which has no NUL, and shown on terminals.
  Type.String({ maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]*$', description });

const Amounts = Type.Object(
  {
    cpu: Type.Optional(Type.Number({ minimum: 0.001, maximum: 1_024, description: 'Cores' })),
    memoryMiB: Type.Optional(Type.Integer({ minimum: 1, maximum: 16_777_216 })),
  },
  { additionalProperties: false },
);

export const Resources = Type.Object(
  { requests: Type.Optional(Amounts), limits: Type.Optional(Amounts) },
  { additionalProperties: false },
);

export const ConcurrencyControl = Type.Object(
  {
    mode: literalUnion(['FIXED', 'STATIC_PER_POD', 'ADAPTIVE_PER_POD', 'BUDGETED', 'SOJOURN']),
    targetInFlightPerPod: Type.Optional(Type.Integer({ minimum: 1, default: 2 })),
    minTargetInFlightPerPod: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
    maxTargetInFlightPerPod: Type.Optional(Type.Integer({ minimum: 1, default: 8 })),
    upscaleCooldownMs: Type.Optional(Type.Integer({ minimum: 0, default: 30_000 })),
    downscaleCooldownMs: Type.Optional(Type.Integer({ minimum: 0, default: 60_000 })),
    highLoadThreshold: Type.Optional(Type.Number({ minimum: 0 })),
    lowLoadThreshold: Type.Optional(Type.Number({ minimum: 0 })),
    targetLatencyMs: Type.Optional(Type.Integer({ minimum: 1, default: 250 })),
    weight: Type.Optional(Type.Number({ exclusiveMinimum: 0, default: 1 })),
  },
  { additionalProperties: false, description: 'Stored for the scaler; `concurrency` bounds the attempts in flight' },
);

export const ScalingConfig = Type.Object(
  {
    strategy: Type.Optional(literalUnion(['INTERNAL', 'HPA', 'NONE'])),
    minReplicas: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
    maxReplicas: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    metrics: Type.Optional(
      Type.Array(
        Type.Object(
          {
            type: text(64, 'queue_depth, in_flight or rps'),
            target: text(64, 'A number, as text'),
            query: Type.Optional(text(1_024, 'Query of an external metric')),
          },
          { additionalProperties: false },
        ),
        { maxItems: 16 },
      ),
    ),
    concurrencyControl: Type.Optional(ConcurrencyControl),
  },
  { additionalProperties: false, description: 'Stored for the scaler' },
);

export const FunctionRetryPolicy = Type.Object(
  {
    handlerErrors: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether errors of the handler itself are retried' }),
    ),
    delayMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600_000,
        description:
          'Delay before the first retry; half of it is random. Default: 1000 for asynchronous calls, 10 for synchronous ones, whose callers wait',
      }),
    ),
    backOffFactor: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 10,
        description:
          'Growth of the delay from one retry to the next; 2 doubles it. Default: 5 for asynchronous calls, 1 for synchronous ones',
      }),
    ),
    maxDelayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000, default: 300_000 })),
    windowMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800_000,
        default: 21_600_000,
        description:
          'How long an asynchronous call is retried, from its acceptance or `runAt`. While the function cannot be reached or accepts no calls, attempts do not count towards `maxRetries`',
      }),
    ),
  },
  { additionalProperties: false },
);
export type FunctionRetryPolicy = Static<typeof FunctionRetryPolicy>;

export const FunctionSchedule = Type.Object(
  {
    cron: Type.String({
      maxLength: 200,
      description:
        'Cron expression of five fields, of six with seconds in front, or @hourly, @daily, @weekly, @monthly, @yearly',
    }),
    timeZone: Type.Optional(Type.String({ maxLength: 64, default: 'UTC', description: 'IANA name: Europe/Berlin' })),
    input: Type.Optional(Type.Unknown({ description: 'Input of every run; default null' })),
    missed: Type.Optional(
      literalUnion(['once', 'skip', 'all'], {
        default: 'once',
        description:
          'Runs that were due while no replica was up. once: one run for all of them. skip: none. all: each of them, the latest 100',
      }),
    ),
    enabled: Type.Optional(Type.Boolean({ default: true })),
  },
  { additionalProperties: false, description: 'Calls the function asynchronously at the times of a cron expression' },
);
export type FunctionSchedule = Static<typeof FunctionSchedule>;

const timeoutMs = Type.Integer({ minimum: 1, maximum: 300_000, description: 'Time limit of one attempt' });
const concurrency = Type.Integer({ minimum: 1, maximum: 100_000, description: 'Maximum attempts in flight' });
const maxRetries = Type.Integer({ minimum: 0, maximum: 100, description: 'Maximum attempts after the first' });

/** Specification of a function, as it is registered. */
export const FunctionSpec = Type.Object(
  {
    name: FunctionName,
    image: Type.Optional(text(512, 'Container image; ignored in the modes LOCAL, POOL and APP')),
    command: Type.Optional(Type.Array(text(4_096, 'Program or argument'), { maxItems: 256 })),
    env: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$' }),
        Type.String({ maxLength: 32_768, pattern: '^[^\\u0000]*$' }),
        {
          maxProperties: 256,
          // A record only constrains names that match its pattern; this rejects all others.
          additionalProperties: false,
          description: 'Environment variables of its processes; stored encrypted, values are never returned',
        },
      ),
    ),
    resources: Type.Optional(Resources),
    timeoutMs: Type.Optional(timeoutMs),
    concurrency: Type.Optional(concurrency),
    queueSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Maximum waiting calls' })),
    maxRetries: Type.Optional(maxRetries),
    retry: Type.Optional(FunctionRetryPolicy),
    schedule: Type.Optional(FunctionSchedule),
    endpointUrl: Type.Optional(text(2_048, 'Mode POOL: URL that receives calls by POST')),
    executionMode: Type.Optional(RequestedExecutionMode),
    handler: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: '^[A-Za-z0-9_][A-Za-z0-9_./-]*\\.(js|mjs|cjs)$',
        description: "Mode LOCAL: module in the host's directory of handlers; default `<name>.js`",
      }),
    ),
    appFunction: Type.Optional(
      text(256, 'Mode APP: function of the application, as `application/function` or `function`; default: the name'),
    ),
    runtimeMode: Type.Optional(literalUnion(['HTTP', 'STDIO', 'FILE'])),
    runtimeCommand: Type.Optional(text(4_096, 'Command that a watchdog starts')),
    imagePullSecrets: Type.Optional(Type.Array(text(253, 'Name of a secret'), { maxItems: 16 })),
    scalingConfig: Type.Optional(ScalingConfig),
    concurrencyControl: Type.Optional(ConcurrencyControl),
    offload: Type.Optional(
      Type.Object(
        {
          enabled: Type.Boolean(),
          targetUrl: Type.Optional(text(2_048, 'URL of another control plane')),
          mode: Type.Optional(literalUnion(['pressure', 'always'])),
        },
        { additionalProperties: false, description: 'Stored; calls are not offloaded to other control planes yet' },
      ),
    ),
  },
  { additionalProperties: false, $id: 'FunctionSpec' },
);
export type FunctionSpec = Static<typeof FunctionSpec>;

const { name: ownName, ...changeable } = FunctionSpec.properties;

/**
 * A change of a function in place, which keeps its queue. Each property replaces the stored one as a whole; `env` is merged by name,
 * because its values are never returned and could not be sent again.
 */
export const FunctionPatch = Type.Object(changeable, {
  additionalProperties: false,
  minProperties: 1,
  $id: 'FunctionPatch',
});
export type FunctionPatch = Static<typeof FunctionPatch>;

const readOnly = (description: string) => Type.Optional(Type.Unknown({ readOnly: true, description }));

/** A whole specification, for a function that exists or not. Accepts a response as it was read: what only responses have is ignored. */
export const FunctionReplacement = Type.Object(
  {
    ...changeable,
    name: Type.Optional(ownName),
    requestedExecutionMode: readOnly('Ignored'),
    effectiveExecutionMode: readOnly('Ignored'),
    deploymentBackend: readOnly('Ignored'),
    degradationReason: readOnly('Ignored'),
    deploymentObjects: readOnly('Ignored'),
    generation: readOnly('Ignored'),
    revision: readOnly('Ignored'),
    queueState: readOnly('Ignored'),
    application: readOnly('Ignored'),
    trigger: readOnly('Ignored'),
    createdAt: readOnly('Ignored'),
    updatedAt: readOnly('Ignored'),
  },
  { additionalProperties: false, $id: 'FunctionReplacement' },
);
export type FunctionReplacement = Static<typeof FunctionReplacement>;

/** The value of a variable in responses. In a request it stands for the stored value. */
export const hiddenValue = '[secret]';

/**
 * - open: accepts calls and starts attempts
 * - paused: accepts asynchronous calls and starts no attempt; synchronous calls are refused
 * - draining: accepts no calls; those that wait run, and the queue then stays empty
 */
export const functionQueueStates = defineStates('function queue', {
  open: ['paused', 'draining'],
  paused: ['open', 'draining'],
  draining: ['open', 'paused'],
});
export type FunctionQueueState = (typeof functionQueueStates.all)[number];
const QueueState = literalUnion(functionQueueStates.all, {
  description:
    'open: accepts and runs calls. paused: accepts asynchronous calls, runs none. draining: accepts none, runs those that wait',
});

/** The queue of a function on the replica that owns it. */
export const FunctionQueueStatus = Type.Object(
  {
    function: Type.String(),
    state: QueueState,
    removing: Type.Boolean({ description: 'The function is removed as soon as nothing waits and nothing runs' }),
    waiting: Type.Integer({ description: 'Calls that wait for a slot' }),
    retrying: Type.Integer({ description: 'Calls that wait for their next attempt' }),
    scheduled: Type.Integer({ description: 'Calls that wait for their `runAt`' }),
    running: Type.Integer(),
    queueSize: Type.Integer(),
  },
  { $id: 'FunctionQueue' },
);
export type FunctionQueueStatus = Static<typeof FunctionQueueStatus>;

/** A function: its specification with all defaults filled in, and its state. */
export const FunctionResponse = Type.Object(
  {
    ...FunctionSpec.properties,
    image: Type.String(),
    timeoutMs,
    concurrency,
    queueSize: Type.Integer(),
    maxRetries,
    retry: Type.Required(FunctionRetryPolicy),
    env: Type.Record(Type.String(), Type.String(), { description: 'Names of the variables; values are not returned' }),
    executionMode: ExecutionMode,
    requestedExecutionMode: RequestedExecutionMode,
    effectiveExecutionMode: ExecutionMode,
    deploymentBackend: Type.Optional(Type.String({ description: 'Back end that runs it: process, k8s' })),
    degradationReason: Type.Optional(Type.String({ description: 'Why it does not run in the requested mode' })),
    deploymentObjects: Type.Optional(Type.Array(Type.String())),
    generation: Type.Integer({
      description: 'Number of the registration: a name that is registered again gets a higher one',
    }),
    revision: Type.Integer({ description: 'Number of the change; grows with every change' }),
    queueState: QueueState,
    application: Type.Optional(Type.String({ description: 'Application that contains it' })),
    trigger: Type.Optional(
      Type.String({ description: 'Type of its trigger in that application: httpTrigger, queueTrigger' }),
    ),
    createdAt: Type.Optional(Type.String({ format: 'date-time' })),
    updatedAt: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { $id: 'Function' },
);
export type FunctionResponse = Static<typeof FunctionResponse>;

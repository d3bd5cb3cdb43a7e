import Type, { type Static } from 'typebox';
import { oneOf } from './one-of.js';

/** Letter first, then what host names and file names have in common; the colon before a verb is never part of it. */
export const functionNamePattern = '^[a-zA-Z][a-zA-Z0-9._-]{0,62}$';

export const FunctionName = Type.String({
  pattern: functionNamePattern,
  maxLength: 63,
  description: 'A letter, then up to 62 letters, digits, dots, underscores and hyphens',
});

/** Where attempts of a function run. */
export const executionModes = ['LOCAL', 'POOL', 'REMOTE', 'APP'] as const;
export type ExecutionMode = (typeof executionModes)[number];

/** What callers may ask for: other systems' names for the same are understood. */
export const requestedExecutionModes = [...executionModes, 'EXTERNAL', 'DEPLOYMENT'] as const;
export type RequestedExecutionMode = (typeof requestedExecutionModes)[number];

export const ExecutionMode = oneOf(executionModes, {
  description:
    'LOCAL: a handler module of this host, in isolated workers. POOL: posted to `endpointUrl`. REMOTE: one job per attempt. APP: a function of a deployed application',
});
export const RequestedExecutionMode = oneOf(requestedExecutionModes, {
  description: 'EXTERNAL is taken for POOL; DEPLOYMENT for POOL with `endpointUrl`, else for REMOTE',
});

const text = (maxLength: number, description: string) =>
  // Kept in PostgreSQL, which has no place for NUL, and shown on terminals.
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
    mode: oneOf(['FIXED', 'STATIC_PER_POD', 'ADAPTIVE_PER_POD', 'BUDGETED', 'SOJOURN']),
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
  { additionalProperties: false, description: 'Kept for the scaler; attempts in flight are bound by `concurrency`' },
);

export const ScalingConfig = Type.Object(
  {
    strategy: Type.Optional(oneOf(['INTERNAL', 'HPA', 'NONE'])),
    minReplicas: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
    maxReplicas: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    metrics: Type.Optional(
      Type.Array(
        Type.Object(
          {
            type: text(64, 'queue_depth, in_flight or rps'),
            target: text(64, 'A number, as text'),
            query: Type.Optional(text(1_024, 'For metrics of other systems')),
          },
          { additionalProperties: false },
        ),
        { maxItems: 16 },
      ),
    ),
    concurrencyControl: Type.Optional(ConcurrencyControl),
  },
  { additionalProperties: false, description: 'Kept for the scaler' },
);

export const RetryPolicy = Type.Object(
  {
    handlerErrors: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether errors of the handler itself are retried, too' }),
    ),
    delayMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3_600_000,
        default: 10,
        description: 'Before the first retry, half of it by chance',
      }),
    ),
    backOffFactor: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 10,
        default: 1,
        description: 'How much longer each further wait is; 2 doubles it',
      }),
    ),
    maxDelayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000, default: 60_000 })),
  },
  { additionalProperties: false },
);
export type RetryPolicy = Static<typeof RetryPolicy>;

const timeoutMs = Type.Integer({ minimum: 1, maximum: 300_000, description: 'For one attempt' });
const concurrency = Type.Integer({ minimum: 1, maximum: 100_000, description: 'Attempts in flight at a time' });
const maxRetries = Type.Integer({ minimum: 0, maximum: 100, description: 'Attempts after the first' });

/** What somebody registers. */
export const FunctionSpec = Type.Object(
  {
    name: FunctionName,
    image: Type.Optional(text(512, 'Container image; of no meaning in the modes LOCAL, POOL and APP')),
    command: Type.Optional(Type.Array(text(4_096, 'Program or argument'), { maxItems: 256 })),
    env: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$' }),
        Type.String({ maxLength: 32_768, pattern: '^[^\\u0000]*$' }),
        {
          maxProperties: 256,
          // A record only says what holds for names that fit: the others have to be refused by themselves.
          additionalProperties: false,
          description: 'Variables of its processes; kept encrypted, never shown again',
        },
      ),
    ),
    resources: Type.Optional(Resources),
    timeoutMs: Type.Optional(timeoutMs),
    concurrency: Type.Optional(concurrency),
    queueSize: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Calls that may wait; fixed at registration' }),
    ),
    maxRetries: Type.Optional(maxRetries),
    retry: Type.Optional(RetryPolicy),
    endpointUrl: Type.Optional(text(2_048, 'Where calls are posted in the mode POOL')),
    executionMode: Type.Optional(RequestedExecutionMode),
    handler: Type.Optional(
      Type.String({
        maxLength: 256,
        pattern: '^[A-Za-z0-9_][A-Za-z0-9_./-]*\\.(js|mjs|cjs)$',
        description: "Mode LOCAL: the module in the host's folder of handlers; `<name>.js` unless told",
      }),
    ),
    appFunction: Type.Optional(
      text(
        256,
        'Mode APP: the function of the application, as `application/function` or `function`; the name unless told',
      ),
    ),
    runtimeMode: Type.Optional(oneOf(['HTTP', 'STDIO', 'FILE'])),
    runtimeCommand: Type.Optional(text(4_096, 'What a watchdog starts')),
    imagePullSecrets: Type.Optional(Type.Array(text(253, 'Name of a secret'), { maxItems: 16 })),
    scalingConfig: Type.Optional(ScalingConfig),
    concurrencyControl: Type.Optional(ConcurrencyControl),
    offload: Type.Optional(
      Type.Object(
        {
          enabled: Type.Boolean(),
          targetUrl: Type.Optional(text(2_048, 'Another control plane')),
          mode: Type.Optional(oneOf(['pressure', 'always'])),
        },
        { additionalProperties: false, description: 'Kept; nothing is handed to other control planes yet' },
      ),
    ),
  },
  { additionalProperties: false, $id: 'FunctionSpec' },
);
export type FunctionSpec = Static<typeof FunctionSpec>;

/** What may change without a new registration. */
export const FunctionPatch = Type.Object(
  {
    concurrency: Type.Optional(concurrency),
    timeoutMs: Type.Optional(timeoutMs),
    maxRetries: Type.Optional(maxRetries),
    retry: Type.Optional(RetryPolicy),
    concurrencyControl: Type.Optional(ConcurrencyControl),
  },
  { additionalProperties: false, minProperties: 1, $id: 'FunctionPatch' },
);
export type FunctionPatch = Static<typeof FunctionPatch>;

/** A function as it is: the specification with every default filled in. */
export const FunctionResponse = Type.Object(
  {
    ...FunctionSpec.properties,
    image: Type.String(),
    timeoutMs,
    concurrency,
    queueSize: Type.Integer(),
    maxRetries,
    retry: Type.Required(RetryPolicy),
    env: Type.Record(Type.String(), Type.String(), { description: 'Names of the variables; values are not shown' }),
    executionMode: ExecutionMode,
    requestedExecutionMode: RequestedExecutionMode,
    effectiveExecutionMode: ExecutionMode,
    deploymentBackend: Type.Optional(Type.String({ description: 'What runs it: process, k8s' })),
    degradationReason: Type.Optional(Type.String({ description: 'Why it does not run as was asked' })),
    deploymentObjects: Type.Optional(Type.Array(Type.String())),
    generation: Type.Integer({
      description: 'Of this registration: a name that is registered again gets a higher one',
    }),
    revision: Type.Integer({ description: 'Grows with every change' }),
    application: Type.Optional(Type.String({ description: 'The application that it was found in' })),
    trigger: Type.Optional(
      Type.String({ description: 'What starts it there, as Azure writes it: httpTrigger, queueTrigger' }),
    ),
    createdAt: Type.Optional(Type.String({ format: 'date-time' })),
    updatedAt: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { $id: 'Function' },
);
export type FunctionResponse = Static<typeof FunctionResponse>;

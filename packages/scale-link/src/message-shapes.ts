import type { ControllerMessage, RuntimeMessage } from './messages.js';

type ShapeName = 'string' | 'number' | 'boolean' | 'array' | 'object';

type ShapeOf<Value> = [Value] extends [string]
  ? 'string'
  : [Value] extends [number]
    ? 'number'
    : [Value] extends [boolean]
      ? 'boolean'
      : [Value] extends [readonly unknown[]]
        ? 'array'
        : 'object';

/** The fields that every message of a kind has: the compiler refuses a table that misses one, or names another type. */
export type MessageShapes<Message extends { readonly kind: string }> = {
  readonly [Kind in Message['kind']]: RequiredFields<Extract<Message, { readonly kind: Kind }>>;
};

type RequiredFields<Message> = {
  readonly [Field in keyof Message as Field extends 'kind'
    ? never
    : undefined extends Message[Field]
      ? never
      : Field]: ShapeOf<Message[Field]>;
};

export const runtimeMessageShapes: MessageShapes<RuntimeMessage> = {
  attach: {
    runtimeId: 'string',
    incarnation: 'string',
    endpoint: 'object',
    functionsUrl: 'string',
    workers: 'array',
    applications: 'object',
  },
  sample: { atMs: 'number', memory: 'number', applications: 'array' },
  request: { application: 'string', priority: 'string', reason: 'string', isIsolated: 'boolean' },
  worker: { worker: 'object' },
  answer: { commandId: 'number' },
};

const command = { token: 'number', commandId: 'number' } as const;

export const controllerMessageShapes: MessageShapes<ControllerMessage> = {
  host: { ...command, application: 'object' },
  remove: { ...command, application: 'string', drainMs: 'number' },
  expect: { ...command, workerId: 'string', requestId: 'string', isIsolated: 'boolean' },
  specialize: { ...command, workerId: 'string', versionKey: 'string', isIsolated: 'boolean' },
  drain: { ...command, workerId: 'string', withinMs: 'number' },
  park: { ...command, application: 'string' },
  synced: command,
};

/** Returns what is wrong with a message; undefined if nothing is. Peers are authenticated, so this finds other releases, not attacks. */
export function checkShape(value: unknown, shapes: Readonly<Record<string, object>>): string | undefined {
  if (!isObject(value)) return 'a message is not a JSON object';
  const kind = value['kind'];
  if (typeof kind !== 'string' || !Object.hasOwn(shapes, kind))
    return `the message kind ${JSON.stringify(kind)} is not known. Use the same release at both ends.`;
  for (const [field, expected] of Object.entries(shapes[kind] ?? {}) as [string, ShapeName][])
    if (shapeOf(value[field]) !== expected)
      return `the field ${field} of a ${kind} message is not of the type ${expected}. Use the same release at both ends.`;
  return undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return value === null ? 'null' : typeof value;
}

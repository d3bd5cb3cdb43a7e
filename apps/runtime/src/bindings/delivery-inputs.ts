import { toTypedData, type TypedDataInit } from '@drover/function-rpc';
import type { Delivery } from '@drover/trigger-sources';
import type { Binding } from '../applications/function-definition.js';
import type { BindingData } from './binding-expressions.js';
import type { InvocationInputs, WorkerCapabilities } from './invocation-inputs.js';
import { NullRecord } from './null-record.js';

/** A delivery, prepared for any worker and for the expressions of output bindings. */
interface DeliveryInputs {
  readonly inputs: (capabilities: WorkerCapabilities) => InvocationInputs;
  /** Properties of the payload take precedence over trigger metadata, as in the official host. */
  readonly bindingData: () => BindingData;
}

/** Triggers whose data is always JSON. */
const jsonTriggers = new Set([
  'timertrigger',
  'eventgridtrigger',
  'cosmosdbtrigger',
  'warmuptrigger',
  'collectiontrigger',
]);

/** Triggers whose data is bytes unless the function asks for a string, as in the official host. */
const bytesTriggers = new Set(['blobtrigger']);

/** Properties of larger payloads are not copied into the trigger metadata; expressions find them anyway. */
const maxRepeatedLength = 262_144;

export function deliveryInputs(trigger: Binding, delivery: Delivery): DeliveryInputs {
  const value = toInput(trigger, delivery.data);
  let parsed: BindingData | undefined;
  const payload = (): BindingData => (parsed ??= payloadProperties(value));
  return {
    inputs: (capabilities) => ({
      inputData: [
        {
          name: trigger.name,
          data: delivery.model ? toModelData(delivery.model) : toData(trigger, value, capabilities),
        },
      ],
      triggerMetadata: toTriggerMetadata(delivery.metadata, value, payload, capabilities),
    }),
    bindingData: () => ({ ...delivery.metadata, ...payload() }),
  };
}

/** What a timer and a warmup get from a run by hand, which the official host makes up too. */
const madeUp: Readonly<Record<string, string>> = {
  timertrigger: '{"Schedule":{"AdjustForDST":true},"ScheduleStatus":null,"IsPastDue":false}',
  warmuptrigger: '{}',
};

/** Returns the payload of a run by hand. Triggers whose data is JSON get a text that is not JSON as a JSON string. */
export function payloadByHand({ type }: Binding, input: string): string {
  const folded = type.toLowerCase();
  if (!jsonTriggers.has(folded) || /^\s*[[{]/.test(input)) return input;
  return madeUp[folded] ?? JSON.stringify(input);
}

type Input = Delivery['data'];

/** Converts to text unless the function asks for bytes. Bytes that are not UTF-8 stay bytes. */
function toInput({ type, dataType }: Binding, data: Input): Input {
  const isBytesByDefault = dataType === undefined && bytesTriggers.has(type.toLowerCase());
  if (dataType === 'binary' || dataType === 'stream' || isBytesByDefault) {
    if (typeof data === 'string') return Buffer.from(data, 'utf8');
    return isTexts(data) ? data.map((text) => Buffer.from(text, 'utf8')) : data;
  }
  if (data instanceof Uint8Array) return decode(data) ?? data;
  if (typeof data === 'string' || isTexts(data)) return data;
  const texts = data.map(decode);
  return texts.every((text) => text !== undefined) ? texts : data;
}

function toData({ type, dataType }: Binding, value: Input, capabilities: WorkerCapabilities): TypedDataInit {
  if (typeof value === 'string' && jsonTriggers.has(type.toLowerCase())) return { json: value };
  // As one JSON array, as in the official host: handlers of function.json get collections of texts as they are, not parsed.
  if (isTexts(value) && dataType === undefined) return { json: `[${value.map(toJson).join(',')}]` };
  // JSON.stringify turns bytes into an object of numbers; base64 text is what workers can decode.
  if (!isTexts(value) && Array.isArray(value)) {
    const typed = toTypedData(value, capabilities);
    return 'json' in typed ? { json: JSON.stringify(value.map((bytes: Uint8Array) => toBase64(bytes))) } : typed;
  }
  return toTypedData(value, capabilities);
}

function toModelData(model: NonNullable<Delivery['model']>): TypedDataInit {
  return 'source' in model ? { modelBindingData: model } : { collectionModelBindingData: { modelBindingData: model } };
}

function toTriggerMetadata(
  metadata: Delivery['metadata'],
  value: Input,
  payload: () => BindingData,
  capabilities: WorkerCapabilities,
): Record<string, TypedDataInit> {
  const typed = new NullRecord<TypedDataInit>();
  const taken = new Set<string>();
  for (const name of Object.keys(metadata)) {
    const known = metadata[name];
    if (known === null || known === undefined) continue;
    taken.add(name.toLowerCase());
    typed[name] =
      known instanceof Date ? { json: JSON.stringify(withOffset(known)) } : toTypedData(known, capabilities);
  }
  if (typeof value !== 'string' || value.length > maxRepeatedLength) return typed;
  const properties = payload();
  for (const name of Object.keys(properties)) {
    const property = properties[name];
    if (property === null || Array.isArray(property) || taken.has(name.toLowerCase())) continue;
    const json = JSON.stringify(property);
    typed[name] = typeof property === 'object' ? { json } : { string: typeof property === 'string' ? property : json };
  }
  return typed;
}

/** Returns a text that is JSON as it is, so that large numbers in it stay exact, and any other text as a JSON string. */
function toJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

/** Returns the top-level properties of a JSON object. */
function payloadProperties(value: Input): BindingData {
  if (typeof value !== 'string' || !/^\s*\{/.test(value)) return {};
  try {
    return JSON.parse(value) as BindingData; // begins with a brace, so it is an object
  } catch {
    return {};
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function isTexts(data: Input): data is readonly string[] {
  return Array.isArray(data) && data.every((item) => typeof item === 'string');
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** The official host writes +00:00 where JavaScript writes Z. */
function withOffset(date: Date): string {
  return date.toISOString().replace('Z', '+00:00');
}

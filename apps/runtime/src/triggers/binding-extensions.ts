import {
  blobExtension,
  collectionExtension,
  eventHubExtension,
  eventGridExtension,
  queueExtension,
  serviceBusExtension,
  tableExtension,
  timerExtension,
  type BindingExtension,
  type BindingExtensionFactory,
  type BindingTypes,
  type ExtensionParts,
  type TriggerSourceObservation,
  type Webhook,
} from '@drover/trigger-sources';
import type { Binding } from '../applications/function-definition.js';
import type { HostJson } from '../applications/host-json-schema.js';
import type { SupportedBindings } from '../bindings/supported-bindings.js';

/** `extensions` of host.json, and `singleton` for sources with one active listener. */
type Host = HostJson['extensions'] & Pick<HostJson, 'singleton'>;
type Factory = BindingExtensionFactory<Host, TriggerSourceObservation>;

const factories: readonly Factory[] = [
  queueExtension,
  serviceBusExtension,
  eventHubExtension,
  blobExtension,
  tableExtension,
  timerExtension,
  eventGridExtension,
  collectionExtension,
];

const typesOf = (kind: keyof BindingTypes): readonly string[] => factories.flatMap(({ types }) => types[kind] ?? []);

/**
 * The binding types of this runtime. HTTP has no extension: its listener is the HTTP server of the runtime. Nor has the warmup
 * trigger: it runs in each new worker.
 */
export const supportedBindings: SupportedBindings = {
  triggers: new Set(['httpTrigger', 'warmupTrigger', ...typesOf('triggers')]),
  inputs: new Set(typesOf('inputs')),
  outputs: new Set(['http', ...typesOf('outputs')]),
  wholeOutputs: new Set(typesOf('wholeOutputs')),
};

/** Returns the functions, in lower case, that are called through webhooks, by the name in the webhook address. */
export function webhookFunctions(
  functions: readonly { readonly name: string; readonly trigger: Binding }[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>();
  for (const { webhookName, types, isPushed = () => true } of factories) {
    const triggers = types.triggers.map((type) => type.toLowerCase());
    const own = functions.filter(
      ({ trigger }) => triggers.includes(trigger.type.toLowerCase()) && isPushed(trigger.options),
    );
    if (webhookName && own.length > 0) found.set(webhookName, new Set(own.map(({ name }) => name.toLowerCase())));
  }
  return found;
}

/** The binding extensions of one application. Each is created when a binding needs it. */
export class BindingExtensions {
  readonly #parts: ExtensionParts<Host, TriggerSourceObservation>;
  readonly #created = new Map<Factory, BindingExtension>();

  constructor(parts: ExtensionParts<Host, TriggerSourceObservation>) {
    this.#parts = parts;
  }

  /** Returns the extension of a binding; undefined for HTTP and for unsupported types. */
  of(kind: 'triggers' | 'inputs' | 'outputs', { type }: Binding): BindingExtension | undefined {
    const folded = type.toLowerCase();
    const factory = factories.find(({ types }) => types[kind].some((own) => own.toLowerCase() === folded));
    return factory && this.#get(factory);
  }

  /** Returns the handlers of the webhook addresses of this application, by the name in the address. */
  webhooks(): ReadonlyMap<string, Webhook> {
    const found = [...this.#created].flatMap(([{ webhookName }, { webhook }]) =>
      webhook && webhookName ? [[webhookName, webhook] as const] : [],
    );
    return new Map(found);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#created.values()].map(async (extension) => extension.close?.()));
  }

  #get(factory: Factory): BindingExtension {
    const known = this.#created.get(factory);
    if (known) return known;
    const created = factory.create(this.#parts);
    this.#created.set(factory, created);
    return created;
  }
}

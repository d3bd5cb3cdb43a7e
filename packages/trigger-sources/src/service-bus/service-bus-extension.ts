import { BoundedMap } from '@drover/service-kit';
import type {
  BindingExtension,
  BindingExtensionFactory,
  BindingRequest,
  ExtensionParts,
  PreparedTrigger,
} from '../binding-extension.js';
import type { OutputTarget } from '../trigger-source.js';
import type { ServiceBusObservation } from './observations.js';
import { parkedBusEntity } from './parked-bus-entity.js';
import { serviceBusConnection, type ServiceBusConnection } from './service-bus-connection.js';
import { ServiceBusListener } from './service-bus-listener.js';
import { serviceBusOptions, serviceBusOutputOptions, type ServiceBusHostOptions } from './service-bus-options.js';
import { BusSenders, ServiceBusOutput } from './service-bus-output.js';

const maxTargets = 1_000;

interface ServiceBusHost {
  readonly serviceBus: ServiceBusHostOptions;
}
type ServiceBusParts = ExtensionParts<ServiceBusHost, ServiceBusObservation>;

/** Service Bus of one application: one connection per listener, and one per connection setting for all outputs. */
class ServiceBusExtension implements BindingExtension {
  readonly #parts: ServiceBusParts;
  readonly #senders = new Map<string, BusSenders>();
  /** Bounded, since names can be built from messages. Beyond the bound, a target is created for each send. */
  readonly #targets = new BoundedMap<string, ServiceBusOutput>({ maxWeight: maxTargets, whenFull: 'reject' });

  constructor(parts: ServiceBusParts) {
    this.#parts = parts;
  }

  prepare(trigger: BindingRequest): PreparedTrigger {
    const { functionName } = trigger;
    const { host, cores } = this.#parts;
    const options = serviceBusOptions({ functionName, host: host.serviceBus, binding: trigger.options, cores });
    return {
      unknownKeys: options.unknownKeys,
      retryBackOffMs: options.retryBackOffMs,
      listen: (deliver) =>
        new ServiceBusListener({
          ...this.#parts,
          functionName,
          connection: this.#connection(trigger),
          options,
          deliver,
        }),
      park: () => {
        const { warmNamespaces, clock } = this.#parts;
        return parkedBusEntity({ connection: this.#connection(trigger), options, warmNamespaces, clock });
      },
    };
  }

  target(output: BindingRequest): OutputTarget {
    const { functionName } = output;
    const { entityName } = serviceBusOutputOptions({ functionName, binding: output.options });
    const key = `${connectionOf(output) ?? ''}\n${entityName}\n${functionName}`;
    const known = this.#targets.get(key);
    if (known) return known;
    const target = new ServiceBusOutput({
      ...this.#parts,
      functionName,
      entityName,
      senders: this.#sendersOf(output),
    });
    this.#targets.set(key, target);
    return target;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#senders.values()].map((senders) => senders.close()));
  }

  #sendersOf(output: BindingRequest): BusSenders {
    const name = connectionOf(output) ?? '';
    const known = this.#senders.get(name);
    if (known) return known;
    const senders = new BusSenders(this.#connection(output), this.#parts.clock);
    this.#senders.set(name, senders);
    return senders;
  }

  #connection(binding: BindingRequest): ServiceBusConnection {
    const { functionName } = binding;
    return serviceBusConnection({ functionName, connection: connectionOf(binding), settings: this.#parts.settings });
  }
}

function connectionOf({ options: { connection } }: BindingRequest): string | undefined {
  return typeof connection === 'string' ? connection : undefined;
}

export const serviceBusExtension: BindingExtensionFactory<ServiceBusHost, ServiceBusObservation> = {
  types: { triggers: ['serviceBusTrigger'], inputs: [], outputs: ['serviceBus'] },
  create: (parts) => new ServiceBusExtension(parts),
};

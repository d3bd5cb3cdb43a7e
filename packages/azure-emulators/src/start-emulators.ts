import path from 'node:path';
import { connectionStrings } from './connection-strings.js';
import type { Entities } from './entities/entities.js';
import { defaultPorts, type EmulatorPort, type Emulators, type EmulatorsOptions } from './emulators.js';
import { explainListenError } from './ports/port-in-use.js';
import type { RunningService, ServiceOptions } from './running-service.js';

/** Each service is loaded when it is started: a program that needs queues only never loads the others. */
const starters: Readonly<Record<EmulatorPort, (options: ServiceOptions) => Promise<RunningService>>> = {
  amqp: async (options) => (await import('./services/amqp-services.js')).startAmqpServices(options),
  blob: async (options) => (await import('./services/storage-services.js')).startBlobs(options),
  queue: async (options) => (await import('./services/storage-services.js')).startQueues(options),
  table: async (options) => (await import('./services/storage-services.js')).startTables(options),
};

const noEntities: Entities = { queues: [], topics: [], eventHubs: [], storageQueues: [] };

/**
 * Starts the emulators that have a port, all by default. Rejects with PortInUseError if a port is in use, or with the error of a data
 * directory that cannot be used; nothing is left running then.
 */
export async function startEmulators(options: EmulatorsOptions = {}): Promise<Emulators> {
  const { host = '127.0.0.1', ports: wanted = defaultPorts, dataDirectory, entities = noEntities } = options;
  const services = Object.keys(starters).filter((one): one is EmulatorPort => one in starters && one in wanted);
  const outcomes = await Promise.allSettled(
    services.map(async (service) => {
      const port = wanted[service] ?? defaultPorts[service];
      try {
        const running = await starters[service]({
          host,
          port,
          morePorts: service === 'amqp' ? (options.moreAmqpPorts ?? []) : [],
          entities,
          dataDirectory: dataDirectory === undefined ? undefined : path.join(dataDirectory, service),
          createOnFirstUse: options.createOnFirstUse ?? true,
          maxBytes: options.maxBytes,
          warn: options.warn ?? (() => undefined),
        });
        return [service, running] as const;
      } catch (error) {
        throw await explainListenError(error, { service, host, port });
      }
    }),
  );
  const running = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure) {
    await Promise.all(running.map(([, service]) => service.stop()));
    throw failure.reason;
  }
  return compose(host, running);
}

function compose(host: string, running: readonly (readonly [EmulatorPort, RunningService])[]): Emulators {
  const ports = Object.fromEntries(running.map(([name, { port }]) => [name, port]));
  const consoles = new Map(running.flatMap(([, service]) => Object.entries(service.consoles)));
  let stopped: Promise<unknown> | undefined;
  return {
    host,
    ports,
    certificate: running.find(([, { certificate }]) => certificate !== undefined)?.[1].certificate,
    connectionStrings: connectionStrings(host, ports),
    consoles,
    storage: running.flatMap(([, { storage }]) => storage ?? []),
    declare: async (entities) => {
      for (const [, service] of running) await service.declare(entities);
    },
    status: () => [...consoles.values()].flatMap((one) => one.entities()),
    stop: async () => {
      stopped ??= Promise.all(running.map(([, service]) => service.stop()));
      await stopped;
    },
  };
}

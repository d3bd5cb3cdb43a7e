import path from 'node:path';
import type { EmulatorPort, EmulatorsPage } from '@drover/azure-emulators';
import {
  createObserve,
  parseConfiguration,
  step,
  type Clock,
  type Composition,
  type Configuration,
  type Observe,
  type ProcessDescription,
  type ProcessIo,
  type Randomness,
} from '@drover/service-kit';
import { dataDirectoryVariable, emulatorsPageVariable } from '../config.js';
import { endpointKey, type DemandedEndpoint } from './emulator-demand.js';
import { isEmulatorsDemand, type EmulatorsPageMessage } from './emulators-demand-message.js';
import { emulatorsReaders, type EmulatorsObservation } from './emulators-observations.js';
import { EndpointKeeper, toEntities } from './endpoint-keeper.js';
import { untilPortFree } from './until-port-free.js';

const emulatorsVariables = { dataDir: dataDirectoryVariable, pagePort: emulatorsPageVariable };
const host = '127.0.0.1';

type EmulatorsConfig = Configuration<typeof emulatorsVariables>;

/** The process that serves emulators. Its supervisor sends what applications need; nothing is loaded before. */
export function emulatorsProcess(parent: NodeJS.Process): ProcessDescription<EmulatorsConfig> {
  return {
    name: 'emulators',
    parse: (environment) => parseConfiguration('emulators', emulatorsVariables, environment),
    compose: ({ dataDir, pagePort }, io) =>
      composeEmulators({ dataDirectory: path.resolve(dataDir, 'emulators'), pagePort }, io, parent),
  };
}

function composeEmulators(
  places: Pick<EmulatorEndpointsOptions, 'dataDirectory' | 'pagePort'>,
  io: ProcessIo,
  parent: NodeJS.Process,
): Composition {
  const { clock, randomness, sinks } = io;
  const observe = createObserve(emulatorsReaders, sinks);
  const onSettled = (url: string | undefined): void => {
    const message: EmulatorsPageMessage = { type: 'emulators.page', url };
    parent.send?.(message, () => undefined); // a supervisor that has just ended has no use for it
  };
  const endpoints = new EmulatorEndpoints({ ...places, clock, randomness, observe, onSettled });
  const onMessage = (message: unknown): void => {
    if (!isEmulatorsDemand(message)) return;
    endpoints.add(message.endpoints).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      observe({ kind: 'emulators.warning', sentence: `entities of an application were not created: ${reason}` });
    });
  };
  return {
    life: step('emulators', {
      up: async () => void parent.on('message', onMessage),
      down: async () => {
        parent.off('message', onMessage);
        await endpoints.stop();
      },
    }),
  };
}

interface EmulatorEndpointsOptions {
  readonly dataDirectory: string;
  readonly pagePort: number;
  /** Called when demanded endpoints are served, or left to others, with the address of the page if there is one. */
  readonly onSettled: (page: string | undefined) => void;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<EmulatorsObservation>;
}

/** All endpoints of this process: one emulator for each, with a data directory of its own, and one page for all. */
class EmulatorEndpoints {
  readonly #options: EmulatorEndpointsOptions;
  readonly #keepers = new Map<string, EndpointKeeper>();
  #page: Promise<EmulatorsPage | undefined> | undefined;

  constructor(options: EmulatorEndpointsOptions) {
    this.#options = options;
  }

  async add(demanded: readonly DemandedEndpoint[]): Promise<void> {
    const { dataDirectory, observe } = this.#options;
    const { serviceOfPort } = await import('@drover/azure-emulators');
    const added: EndpointKeeper[] = [];
    for (const endpoint of demanded) {
      const known = this.#keepers.get(endpointKey(endpoint));
      if (known) await known.declare(endpoint);
      else added.push(this.#keep(endpoint, `${serviceOfPort(endpoint.service)} on ${host}:${endpoint.port}`));
    }
    if (added.length === 0) return;
    await Promise.all(added.map(({ settled }) => settled));
    const named = (state: EndpointKeeper['state']): string[] =>
      added.flatMap((keeper) => (keeper.state === state ? [keeper.name] : []));
    const [serving, borrowed] = [named('serving'), named('borrowed')];
    const page = serving.length > 0 ? await this.#startPage() : await this.#page;
    this.#options.onSettled(page?.url);
    if (serving.length + borrowed.length > 0)
      observe({ kind: 'emulators.ready', serving, borrowed, dataDirectory, page: page?.url });
  }

  async stop(): Promise<void> {
    await (await this.#page)?.stop();
    await Promise.all([...this.#keepers.values()].map((keeper) => keeper.stop()));
  }

  #keep(endpoint: DemandedEndpoint, name: string): EndpointKeeper {
    const { dataDirectory, clock } = this.#options;
    const keeper = new EndpointKeeper({
      ...this.#options,
      endpoint,
      name,
      open: async (demand) => {
        const { startEmulators } = await import('@drover/azure-emulators');
        const { service, port } = demand;
        const ports: Partial<Record<EmulatorPort, number>> = { [service]: port };
        const emulators = await startEmulators({
          host,
          ports,
          dataDirectory: path.join(dataDirectory, String(port)),
          warn: (sentence) => this.#options.observe({ kind: 'emulators.warning', sentence }),
        });
        try {
          await emulators.declare(toEntities(demand));
          return emulators;
        } catch (error) {
          await emulators.stop(); // tried again as a whole
          throw error;
        }
      },
      untilFree: (port, signal) => untilPortFree(port, clock, signal),
    });
    this.#keepers.set(endpointKey(endpoint), keeper);
    return keeper;
  }

  /** The emulators serve without it. */
  #startPage(): Promise<EmulatorsPage | undefined> {
    return (this.#page ??= this.#openPage().catch(() => undefined));
  }

  /** On its port, or on a free one if that is in use: two installations on one machine have a page each. */
  async #openPage(): Promise<EmulatorsPage> {
    const { startEmulatorsPage } = await import('@drover/azure-emulators');
    const { pagePort, observe } = this.#options;
    const shown = () => [...this.#keepers.values()].flatMap(({ emulators }) => emulators ?? []);
    return startEmulatorsPage(shown, pagePort).catch(async (error: unknown) => {
      const elsewhere = await startEmulatorsPage(shown, 0);
      const reason = error instanceof Error ? error.message : String(error);
      const sentence = `the page of the emulators is at ${elsewhere.url}, because its port ${pagePort} cannot be used (${reason}); set DROVER_EMULATORS_PAGE_PORT to choose another`;
      observe({ kind: 'emulators.warning', sentence });
      return elsewhere;
    });
  }
}

import { type Emulators, startEmulators } from '@drover/azure-emulators';
import { ownCpuMs } from '../../harness/process-facts.js';
import { serveRequests } from '../../harness/program.js';

/** Starts the emulators on the first request; every answer has the CPU time. */
export interface EmulatorsRequest {
  readonly kind: 'start' | 'cpu';
}

export interface EmulatorsAnswer {
  readonly serviceBus: string;
  readonly eventHubs: string;
  readonly storage: string;
  /** CPU time of the process so far. */
  readonly cpuMs: number;
}

let emulators: Emulators | undefined;

/** Our emulators in memory, on free ports. */
serveRequests<EmulatorsRequest>(async (): Promise<EmulatorsAnswer> => {
  emulators ??= await startEmulators({ ports: { amqp: 0, queue: 0 } });
  const { serviceBus = '', eventHubs = '', storage = '' } = emulators.connectionStrings;
  return { serviceBus, eventHubs, storage, cpuMs: ownCpuMs() };
});

import type { EmulatorPort } from '../emulators.js';
import { probePort } from './probe-port.js';

const serviceNames: Readonly<Record<EmulatorPort, string>> = {
  amqp: 'Service Bus and Event Hubs',
  blob: 'blobs',
  queue: 'storage queues',
  table: 'tables',
};

/** How the services of a port are called in messages. */
export function serviceOfPort(service: EmulatorPort): string {
  return serviceNames[service];
}

/** A port that an emulator should listen on is in use. */
export class PortInUseError extends Error {
  override readonly name = 'PortInUseError';
  readonly code = 'EMULATOR_PORT_IN_USE';
  readonly service: EmulatorPort;
  readonly port: number;
  /** True if an emulator of the same service listens there, which can be used instead. */
  readonly isEmulator: boolean;

  constructor(service: EmulatorPort, port: number, isEmulator: boolean) {
    const holder = isEmulator
      ? 'another emulator (Azurite, or one of a running "drover up") already answers there. Use that one, stop it'
      : 'another program listens there. Stop that program';
    super(
      `Port ${port} for ${serviceNames[service]} is in use: ${holder}, or choose another port (0 selects a free one).`,
    );
    this.service = service;
    this.port = port;
    this.isEmulator = isEmulator;
  }
}

/** Replaces the error of a port that is in use by one that names what listens there. Other errors are returned unchanged. */
export async function explainListenError(
  error: unknown,
  { service, host, port }: { readonly service: EmulatorPort; readonly host: string; readonly port: number },
): Promise<unknown> {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) return error;
  // Of several ports, the error names the one that is in use.
  const used = 'port' in error && typeof error.port === 'number' ? error.port : port;
  return new PortInUseError(service, used, (await probePort(service, host, used)) === 'emulator');
}

import http from 'node:http';
import net from 'node:net';
import type { EmulatorPort } from '../emulators.js';
import { storageProbeHeader, storageProbePath } from './storage-probe.js';

/** What a client finds at a port: nothing, an emulator of the service, or another program. */
export type PortUse = 'free' | 'emulator' | 'other';

/** A local emulator answers in milliseconds; one that is busy loading takes longer. */
const answerWithinMs = 2_000;

/** Finds out what listens at a port. Never throws. */
export async function probePort(service: EmulatorPort, host: string, port: number): Promise<PortUse> {
  return service === 'amqp' ? probeAmqp(host, port) : probeStorage(host, port);
}

const amqpHeader = Buffer.from([0x41, 0x4d, 0x51, 0x50, 3, 1, 0, 0]); // "AMQP", SASL, version 1.0.0

/** An AMQP server answers the protocol header with its own, before any authentication. */
function probeAmqp(host: string, port: number): Promise<PortUse> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, timeout: answerWithinMs });
    const end = (use: PortUse): void => {
      socket.destroy();
      resolve(use);
    };
    socket.once('connect', () => socket.write(amqpHeader));
    socket.once('data', (data) => end(data.subarray(0, 4).toString('latin1') === 'AMQP' ? 'emulator' : 'other'));
    socket.once('timeout', () => end('other'));
    socket.once('end', () => end('other'));
    socket.once('error', (error) => end(isRefused(error) ? 'free' : 'other'));
  });
}

/** Every storage service answers a request without credentials with a header of its own. */
function probeStorage(host: string, port: number): Promise<PortUse> {
  return new Promise((resolve) => {
    const headers = { [storageProbeHeader]: '1' };
    const target = { host, port, path: storageProbePath, headers, agent: false, timeout: answerWithinMs };
    const request = http.get(target);
    request.once('response', (response) => {
      const isStorage =
        response.headers['x-ms-request-id'] !== undefined || /azurite/i.test(String(response.headers.server));
      response.destroy();
      resolve(isStorage ? 'emulator' : 'other');
    });
    request.once('timeout', () => {
      request.destroy();
      resolve('other');
    });
    request.once('error', (error) => resolve(isRefused(error) ? 'free' : 'other'));
  });
}

function isRefused(error: Error): boolean {
  return 'code' in error && error.code === 'ECONNREFUSED';
}

import { createServer } from 'node:http';
import { systemClock } from '@drover/service-kit';
import { HttpPort } from '../server/port.js';
import { IpcConnectionChannel } from './connection-channel.js';

/** A process that serves the connections its parent passes. */
const port = new HttpPort(createServer(), {
  host: '127.0.0.1',
  port: 0,
  limits: {
    headerBytes: 16_384,
    headers: 100,
    addressBytes: 8_192,
    headersMs: 15_000,
    requestMs: 30_000,
    keepAliveMs: 5_000,
    checkEveryMs: 1_000,
    connections: 1_000,
    connectionsPerClient: 500,
    reservedConnections: 16,
    firstByteMs: 5_000,
    writeMs: 30_000,
  },
  serveFastLane: ({ url }, exchange) => {
    exchange.answer(200, [], `back ${process.pid} ${url}`);
    return true;
  },
  clock: systemClock,
});
port.adoptFrom(new IpcConnectionChannel(process), (target) => target.startsWith('/api/'));
process.send?.('ready');

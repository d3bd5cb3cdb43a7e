import { systemClock } from '@drover/service-kit';
import { openPort } from '../server/port.test.fixture.js';
import { IpcConnectionChannel } from './connection-channel.js';

/** A process that serves the connections its parent passes. */
const port = await openPort({
  clock: systemClock,
  serve: (_request, response) => response.end('back by Node'),
  serveFastLane: ({ url }, exchange) => {
    exchange.answer(200, [], `back ${process.pid} ${url}`);
    return true;
  },
});
port.adoptFrom(new IpcConnectionChannel(process), (target) => target.startsWith('/api/'));
process.send?.('ready');

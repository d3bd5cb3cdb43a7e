import { systemClock } from '@drover/service-kit';
import { openPort } from '../server/port.test.fixture.js';
import { IpcConnectionChannel } from './connection-channel.js';

/** A process that serves the connections its parent passes, and drains when it is told to. */
const port = await openPort({
  clock: systemClock,
  serve: (_request, response) => response.end('back by Node'),
  serveFastLane: ({ url }, exchange) => {
    if (url !== '/api/never') exchange.answer(200, [], `back ${process.pid} ${url}`);
    return true;
  },
});
port.adoptFrom(new IpcConnectionChannel(process, systemClock), (target) => target.startsWith('/api/'));
process.on('message', (message) => {
  if (message === 'drain') void port.drain(new AbortController().signal).then(() => process.exit());
});
process.send?.('ready');

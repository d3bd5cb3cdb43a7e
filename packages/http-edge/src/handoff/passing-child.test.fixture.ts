import { createServer } from 'node:http';
import { systemClock } from '@drover/service-kit';
import { HttpPort } from '../server/port.js';
import { portLimits } from '../server/port.test.fixture.js';
import { IpcConnectionChannel } from './connection-channel.js';

/** A process that accepts connections on the port it is given, and passes those with a second request if it can. */
const channel = new IpcConnectionChannel(process, systemClock);
const port = new HttpPort(createServer(), {
  host: '127.0.0.1',
  port: Number(process.argv[2]),
  limits: portLimits,
  clock: systemClock,
  serveFastLane: ({ url }, exchange) => {
    const mayPass = url.startsWith('/api/') && exchange.answeredBefore > 0 && channel.isOpen;
    const passed = mayPass ? exchange.detach() : undefined;
    if (passed) channel.pass(passed);
    else exchange.answer(200, [], `front ${url}`);
    return true;
  },
});
port.takeBackFrom(channel);
await port.listen();
process.send?.(new URL(port.url).port);

import { AmqpServer } from '../../amqp/amqp-server.js';
import { startServiceBus } from '../service-bus.js';

/** A durable Service Bus to be killed by a test. Ends with its parent. */
process.once('disconnect', () => process.exit());
const [, , directory = '', port = '0'] = process.argv;
const bus = await startServiceBus({ directory });
const server = new AmqpServer({ services: [bus.service], http: bus.admin, port: Number(port) });
process.stdout.write(`port ${await server.start()}\n`);

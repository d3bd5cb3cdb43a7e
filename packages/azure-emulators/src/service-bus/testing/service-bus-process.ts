import { AmqpServer } from '../../amqp/amqp-server.js';
import { startServiceBus } from '../service-bus.js';

/** A durable Service Bus to be killed by a test. Ends with its parent. Locks of the queue `ledger` are short. */
process.once('disconnect', () => process.exit());
const [, , directory = '', port = '0'] = process.argv;
const entities = { queues: [{ name: 'ledger', lockDurationMs: 3_000 }], topics: [] };
const bus = await startServiceBus({ directory, entities });
const server = new AmqpServer({ services: [bus.service], http: bus.admin, port: Number(port) });
process.stdout.write(`port ${await server.start()}\n`);

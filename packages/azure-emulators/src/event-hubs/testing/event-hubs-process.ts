import { AmqpServer } from '../../amqp/amqp-server.js';
import { openEventHubs } from '../event-hubs-emulator.js';

/** Durable event hubs to be killed by a test. Ends with its parent. */
process.once('disconnect', () => process.exit());
const { service } = await openEventHubs({ directory: process.argv[2] ?? '' });
const port = await new AmqpServer({ services: [service] }).start();
process.stdout.write(`port ${port}\n`);

import { QueueService } from '../queue-service.js';

/** A durable queue service to be killed by a test. Ends with its parent. */
process.once('disconnect', () => process.exit());
const [, , dataDirectory = '', port = '0'] = process.argv;
const service = await QueueService.start({ dataDirectory, port: Number(port) });
process.stdout.write(`port ${service.port}\n`);

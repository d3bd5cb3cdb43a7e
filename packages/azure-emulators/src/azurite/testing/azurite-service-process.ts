import { AzuriteService } from '../azurite-service.js';

/** A table service to be killed by a test. Ends with its parent. */
process.once('disconnect', () => process.exit());
const service = await AzuriteService.start({ kind: 'table', dataDirectory: process.argv[2] ?? '' });
process.stdout.write(`port ${service.port}\n`);
const timer = setInterval(() => {
  if (service.pid === undefined) return;
  process.stdout.write(`azurite ${service.pid}\n`);
  clearInterval(timer);
}, 20);

import { startAzuriteProcess } from '../azurite/azurite-process.js';
import { developmentAccount } from './authorize.js';
import { QueueService } from './queue-service.js';
import { queuesContract } from './testing/queues-contract.js';

const urlOf = (port: number): string => `http://127.0.0.1:${port}/${developmentAccount.name}`;

queuesContract('ours', async () => {
  const service = await QueueService.start();
  return { url: urlOf(service.port), namesMinima: true, stop: () => service.stop() };
});

queuesContract('azurite', async () => {
  const azurite = await startAzuriteProcess('queue', undefined);
  return { url: urlOf(azurite.port), namesMinima: false, stop: () => azurite.stop() };
});

import { collectionWorkerProcess } from '@drover/collection-worker';
import { runProcess } from '@drover/service-kit';

await runProcess({ ...collectionWorkerProcess, name: ({ WORKER_ID: id = 'collection-worker' }) => id });

import { runProcess } from '@drover/service-kit';
import { collectionWorkerProcess } from './compose.js';

await runProcess(collectionWorkerProcess);

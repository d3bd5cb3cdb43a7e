import { runWorker } from './run-worker.js';

void runWorker(process);

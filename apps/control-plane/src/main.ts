import { runProcess } from '@drover/service-kit';
import { controlPlaneProcess } from './compose.js';

await runProcess(controlPlaneProcess);

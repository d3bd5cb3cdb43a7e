import { runProcess } from '@drover/service-kit';
import { emulatorsProcess } from './emulators-process.js';

await runProcess(emulatorsProcess(process));

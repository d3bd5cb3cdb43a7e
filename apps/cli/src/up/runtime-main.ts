import { runtimeProcess } from '@drover/runtime';
import { runProcess } from '@drover/service-kit';

await runProcess({ ...runtimeProcess(), name: 'runtime-1' });

import { IpcConnectionChannel } from '@drover/http-edge';
import { runtimeProcess } from '@drover/runtime';
import { runProcess } from '@drover/service-kit';

await runProcess({ ...runtimeProcess({}, new IpcConnectionChannel(process)), name: 'runtime-1' });

import { IpcConnectionChannel } from '@drover/http-edge';
import { runtimeProcess } from '@drover/runtime';
import { runProcess, systemClock } from '@drover/service-kit';

const surroundings = {
  connections: new IpcConnectionChannel(process, systemClock),
  demandEmulators: (endpoints: readonly unknown[]): void =>
    void process.send?.({ type: 'emulators.demand', endpoints }, undefined, undefined, () => undefined),
};
await runProcess({ ...runtimeProcess({}, surroundings), name: 'runtime-1' });

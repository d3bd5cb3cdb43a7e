import type { Observe, Readers } from '@drover/service-kit';
import { triggerSourceReaders, type TriggerSourceObservation } from '@drover/trigger-sources';
import { applicationReaders, type ApplicationObservation } from './deployments/application-observations.js';
import { ownEmulatorsReaders, type OwnEmulatorsObservation } from './emulators/emulators-observations.js';
import { hostingReaders, type HostingObservation } from './hosting/hosting-observations.js';
import { httpReaders, type HttpObservation } from './exchanges/http-observations.js';
import {
  functionInvocationReaders,
  type FunctionInvocationObservation,
} from './invocations/invocation-observations.js';
import { jobHostReaders, type JobHostObservation } from './job-hosts/job-host-observations.js';
import { workerProcessReaders, type WorkerProcessObservation } from './processes/process-observations.js';
import { rpcReaders, type RpcObservation } from './rpc/rpc-observations.js';
import { linkReaders, type LinkObservation } from './scale-link/link-observations.js';
import { deliveryReaders, type DeliveryObservation } from './triggers/delivery-observations.js';
import { functionWorkerReaders, type FunctionWorkerObservation } from './workers/worker-observations.js';

/** Everything that a runtime observes. Each folder declares its own part, so that no folder depends on all of them. */
export type RuntimeObservation =
  | TriggerSourceObservation
  | HttpObservation
  | RpcObservation
  | FunctionWorkerObservation
  | WorkerProcessObservation
  | ApplicationObservation
  | JobHostObservation
  | FunctionInvocationObservation
  | DeliveryObservation
  | HostingObservation
  | OwnEmulatorsObservation
  | LinkObservation;

export type RuntimeObserve = Observe<RuntimeObservation>;

export const runtimeReaders: Readers<RuntimeObservation> = {
  ...triggerSourceReaders,
  ...httpReaders,
  ...rpcReaders,
  ...functionWorkerReaders,
  ...workerProcessReaders,
  ...applicationReaders,
  ...jobHostReaders,
  ...functionInvocationReaders,
  ...deliveryReaders,
  ...hostingReaders,
  ...ownEmulatorsReaders,
  ...linkReaders,
};

export { BoundedMap } from './bounded-map.js';
export { isLoopback } from './configuration/is-loopback.js';
export { nearestName } from './configuration/nearest-name.js';
export { parseConfiguration, variablesToMarkdown } from './configuration/parse-configuration.js';
export type { Configuration, Rule, Variables } from './configuration/parse-configuration.js';
export {
  integer,
  milliseconds,
  oneOf,
  optionalText,
  optionalUrl,
  port,
  secret,
  text,
  VariableProblem,
} from './configuration/variables.js';
export type { Environment, Variable } from './configuration/variables.js';
export { configurationInvalid, kitErrors } from './errors.js';
export { FolderWatch } from './folder-watch.js';
export { hashFolder } from './hash-folder.js';
export type { FolderHash, FolderHashOptions } from './hash-folder.js';
export { makeDirectories } from './make-directories.js';
export { WakeUp } from './wake-up.js';
export { inOrder } from './lifecycle/in-order.js';
export { together } from './lifecycle/together.js';
export type { Lifecycle } from './lifecycle/lifecycle.js';
export { step } from './lifecycle/step.js';
export { renderLabels } from './observations/computed-metrics.js';
export type { ComputedMetric, Sample } from './observations/computed-metrics.js';
export { messageOf } from './observations/describe-error.js';
export { Histogram } from './observations/histogram.js';
export { count, gauge, seconds } from './observations/observation.js';
export type { Labels, Metric, Observation, Observe, Reader, Readers } from './observations/observation.js';
export { toLogText } from './observations/log-text.js';
export { createLog, createMetrics, createObserve } from './observations/sinks.js';
export type { Sinks } from './observations/sinks.js';
export { continueTrace, toTraceparent } from './observations/trace-context.js';
export type { TraceContext } from './observations/trace-context.js';
export { Health, processStates } from './process/health.js';
export type { PartHealth } from './process/health.js';
export { Leash } from './process/leash.js';
export { hasColors, isLogText } from './process/log-format.js';
export { processVariables } from './process/process-variables.js';
export { runProcess } from './process/run-process.js';
export { SupervisedProcess, supervisedProcessStates } from './process/supervised-process.js';
export type { ProcessAnnouncement } from './process/supervised-process.js';
export { supervisedProcessReaders } from './process/supervised-process-observations.js';
export type { SupervisedProcessObservation } from './process/supervised-process-observations.js';
export type { Composition, ProcessDescription, ProcessIo } from './process/run-process.js';
export { SealingKey, secretText } from './sealing-key.js';
export type { Unsealed, UnsealProblem } from './sealing-key.js';
export { Secret } from './secret.js';
export { BackOff, backOffMs } from './time/back-off.js';
export type { BackOffPolicy } from './time/back-off.js';
export { deadlineAfter, sleep, systemClock } from './time/clock.js';
export type { Clock } from './time/clock.js';
export { systemRandomness } from './time/randomness.js';
export type { Randomness } from './time/randomness.js';

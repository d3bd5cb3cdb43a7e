import { triggerOptionsInvalid } from '../errors.js';
import {
  commonBindingKeys,
  oneWordOf,
  readByRules,
  timeSpan,
  wholeNumber,
  type OptionRule,
  type ReadRules,
} from '../options/option-rules.js';
import { hasSdkBinding } from '../options/sdk-binding.js';
import { longestHideMs } from '../queue/storage-queue.js';
import { compileBlobPattern, parseBlobPath, type BlobPath, type BlobPattern } from './blob-path.js';

/** The options of one blob trigger: every value is checked and has its default. */
export interface BlobTriggerOptions {
  readonly pattern: BlobPattern;
  /** Blobs that run at a time. */
  readonly maxDegreeOfParallelism: number;
  /** Deliveries of a version before it counts as poison. */
  readonly poisonBlobThreshold: number;
  /** Longest time between two scans of the container. */
  readonly scanIntervalMs: number;
  /** After a crash, a version that ran is delivered again when its lease expires. */
  readonly leaseMs: number;
  /** First delay of a failed version, doubled each time; 0 redelivers at once. */
  readonly retryBackOffMs: number;
  /** Keys of the binding that no component reads: probably misspelt. */
  /** The worker creates a client of the SDK: the content is not read. */
  readonly isSdkBinding: boolean;
  /** Events of the storage account may report new blobs, besides the scans. */
  readonly takesEvents: boolean;
  readonly unknownKeys: readonly string[];
}

const dayMs = 24 * 3_600_000;
/** Azure has no limit of its own for these. */
const largestInteger = 2 ** 31 - 1;

const anyText: OptionRule<string> = {
  allowed: 'a text that is not empty',
  read: (value) => (typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined),
};

/** Options of host.json for all functions. A trigger may override each of them. */
const hostRules = {
  maxDegreeOfParallelism: wholeNumber(1, largestInteger),
  poisonBlobThreshold: wholeNumber(1, largestInteger),
  scanInterval: timeSpan(100, dayMs),
  leaseDuration: timeSpan(1_000, longestHideMs),
  retryBackOff: timeSpan(0, longestHideMs),
};
const triggerRules = {
  path: anyText,
  ...hostRules,
  /** The name that queues have for the threshold. */
  maxDequeueCount: hostRules.poisonBlobThreshold,
  source: oneWordOf('logsandcontainerscan', 'eventgrid'),
  dataType: oneWordOf('string', 'binary', 'stream'),
};
const bindingRules = {
  path: anyText,
  contentType: anyText,
  dataType: oneWordOf('string', 'binary', 'stream'),
};

/** `extensions.blobs` of host.json once it was read; durations are milliseconds. */
export interface BlobHostOptions {
  readonly maxDegreeOfParallelism?: number;
  readonly poisonBlobThreshold?: number;
  readonly scanInterval?: number;
  readonly leaseDuration?: number;
  readonly retryBackOff?: number;
}

/** Names of the options under `extensions.blobs` of host.json. */
export const blobHostOptionNames: readonly string[] = Object.keys(hostRules);

/** Reads `extensions.blobs` of host.json. It is the only reader of that section. */
export function readBlobHostOptions(
  section: unknown,
): Omit<ReadRules<typeof hostRules>, 'values'> & { readonly values: BlobHostOptions } {
  return readByRules(hostRules, section, { replaces: true });
}

interface BlobOptionsRequest {
  readonly functionName: string;
  /** The binding as the app declared it, with expressions evaluated. */
  readonly binding: unknown;
}

/** Returns the options of a blobTrigger. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function blobTriggerOptions(
  request: BlobOptionsRequest & { readonly host: BlobHostOptions; readonly cores: number },
): BlobTriggerOptions {
  const { functionName, host, binding, cores } = request;
  const { values: own, problems, unknownKeys } = readByRules(triggerRules, binding);
  const found = describe('blobTrigger', own.path, problems);
  const compiled = own.path === undefined ? undefined : compileBlobPattern(own.path);
  if (compiled && 'problem' in compiled) found.push(`its blobTrigger: path ${compiled.problem}`);
  if (found.length > 0 || !compiled || 'problem' in compiled)
    throw triggerOptionsInvalid({ functionName, problems: found });
  const options = { ...host, ...own };
  return {
    pattern: compiled.value,
    maxDegreeOfParallelism: options.maxDegreeOfParallelism ?? 8 * Math.max(1, cores),
    poisonBlobThreshold: own.maxDequeueCount ?? options.poisonBlobThreshold ?? 5,
    scanIntervalMs: options.scanInterval ?? 10_000,
    leaseMs: options.leaseDuration ?? 60_000,
    retryBackOffMs: options.retryBackOff ?? 0,
    isSdkBinding: hasSdkBinding(binding),
    takesEvents: own.source === 'eventgrid',
    unknownKeys: unknownKeys.filter((key) => !commonBindingKeys.has(key.toLowerCase())),
  };
}

export interface BlobBindingOptions {
  readonly path: BlobPath;
  readonly contentType: string;
  /** How an input is delivered. As in the official host, bytes unless the function asks for a string. */
  readonly dataType: 'text' | 'bytes';
  /** The worker creates a client of the SDK: the content is not read. */
  readonly isSdkBinding: boolean;
}

/** Returns the options of a blob input or output. Throws TRIGGER_OPTIONS_INVALID with all problems. */
export function blobBindingOptions(
  { functionName, binding }: BlobOptionsRequest,
  kind: 'input' | 'output',
  endpoint: string,
): BlobBindingOptions {
  const { values: own, problems } = readByRules(bindingRules, binding);
  const found = describe(`blob ${kind}`, own.path, problems);
  const path = own.path === undefined ? undefined : parseBlobPath(own.path, endpoint);
  if (path && 'problem' in path) found.push(`its blob ${kind}: path ${path.problem}`);
  if (found.length > 0 || !path || 'problem' in path) throw triggerOptionsInvalid({ functionName, problems: found });
  return {
    path: path.value,
    contentType: own.contentType ?? 'application/octet-stream',
    dataType: own.dataType === 'string' ? 'text' : 'bytes',
    isSdkBinding: hasSdkBinding(binding),
  };
}

function describe(
  binding: string,
  path: string | undefined,
  problems: ReadRules<typeof triggerRules>['problems'],
): string[] {
  const described = problems.map(({ key, problem }) => `its ${binding}${key === '' ? '' : `: ${key}`} ${problem}`);
  const isMissing = path === undefined && !problems.some(({ key }) => key === '' || key === 'path');
  return isMissing ? [`its ${binding} needs a path: "container/blob"`, ...described] : described;
}

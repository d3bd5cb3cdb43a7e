import type { WorkerServerOptions } from '../../types/server.js';
import {
  functionValue,
  listOfValues,
  objectWith,
  optionsOf,
  recordOfValues,
  stringValue,
  type OptionTable,
} from './checks.js';

// The options of the worker's side, in a file of their own: every line that a worker does not load makes its start faster.

export const middlewareOption = listOfValues(functionValue, 'an array of functions');

export const serializerOption = objectWith(
  { name: stringValue, serialize: functionValue, deserialize: functionValue },
  'a serializer: an object with name, serialize and deserialize',
);

const serverTable: OptionTable<WorkerServerOptions> = {
  middleware: middlewareOption,
  serializer: serializerOption,
  onClose: functionValue,
};

const checkServer = optionsOf(serverTable, {
  driver: 'Omit it: the worker finds out by itself how it was started.',
  txIdGenerator: 'It is an option of createWorker.',
  logger: 'It is an option of createWorker.',
  logLevel: 'It is an option of createWorker.',
});
const checkHandlers = recordOfValues(functionValue, 'an object with a function for each message');

/** Throws `UnsupportedOptionError` with what to change. */
export function expectServerOptions(handlers: unknown, options: unknown): void {
  checkHandlers(handlers, 'handlers');
  checkServer(options, 'startWorkerServer');
}

import { UnsupportedOptionError } from '../../types/errors.js';
import type { WorkerServerOptions } from '../../types/server.js';
import {
  functionValue,
  listOfValues,
  objectWith,
  optionsOf,
  recordOfValues,
  stringValue,
  type Check,
  type OptionTable,
} from './checks.js';

// The options of the worker's side, in a file of their own: every line that a worker does not load makes its start faster.

/** A second parameter would be the direction, as in the public library 0.2, and would never have a value. */
const middlewareFunction: Check = (value, name) => {
  functionValue(value, name);
  if ((value as (...args: unknown[]) => unknown).length > 1)
    throw new UnsupportedOptionError(`${name} has two parameters. It gets one: a message, with its direction.`);
};
export const middlewareOption = listOfValues(middlewareFunction, 'an array of functions');

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

import { createHmac } from 'node:crypto';
import type { FunctionKeyData } from './function-keys.js';

/** The keys of an application from one secret: the same after every start, and of no use for any other application. */
export function deriveFunctionKeys(
  masterKey: string,
  applicationKey: string,
  functionNames: readonly string[],
): FunctionKeyData {
  const derive = (purpose: string): string =>
    createHmac('sha256', masterKey).update(`${applicationKey}\n${purpose}`).digest('base64url');
  return {
    masterKey,
    functionKeys: { default: derive('host') },
    systemKeys: {},
    functions: Object.fromEntries(
      functionNames.map((name) => [name, { default: derive(`function ${name.toLowerCase()}`) }]),
    ),
  };
}

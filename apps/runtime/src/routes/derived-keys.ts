import { createHmac } from 'node:crypto';
import type { FunctionKeyData } from './function-keys.js';

/** Returns the name of the key that authorizes calls of a webhook. */
export function systemKeyOf(webhookName: string): string {
  return `${webhookName.toLowerCase()}_extension`;
}

/** Derives the keys of an application from the master key: stable across restarts, and different for each application. */
export function deriveFunctionKeys(
  masterKey: string,
  applicationKey: string,
  functionNames: readonly string[],
  webhookNames: readonly string[] = [],
): FunctionKeyData {
  const derive = (purpose: string): string =>
    createHmac('sha256', masterKey).update(`${applicationKey}\n${purpose}`).digest('base64url');
  return {
    masterKey,
    functionKeys: { default: derive('host') },
    systemKeys: Object.fromEntries(webhookNames.map(systemKeyOf).map((name) => [name, derive(`system ${name}`)])),
    functions: Object.fromEntries(
      functionNames.map((name) => [name, { default: derive(`function ${name.toLowerCase()}`) }]),
    ),
  };
}

import Type from 'typebox';
import { defineTopic } from './topic.js';

export const apiKeyChanged = defineTopic('drover.api-keys', {
  about: 'A key was made, replaced or revoked: whoever remembers it must look again',
  schema: Type.Object({ keyId: Type.String(), tenantId: Type.String(), revoked: Type.Boolean() }),
});

export const functionChanged = defineTopic('drover.functions', {
  about: 'A function was registered, changed or removed: whoever remembers it must look again',
  schema: Type.Object({ tenantId: Type.String(), name: Type.String(), removed: Type.Boolean() }),
});

/** Every topic there is. */
export const topics = [apiKeyChanged, functionChanged] as const;

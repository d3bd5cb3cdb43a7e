import Type from 'typebox';
import { defineTopic } from './topic.js';

export const apiKeyChanged = defineTopic('drover.api-keys', {
  about: 'A key was made, replaced or revoked: whoever remembers it must look again',
  schema: Type.Object({ keyId: Type.String(), tenantId: Type.String(), revoked: Type.Boolean() }),
});

/** Every topic there is. */
export const topics = [apiKeyChanged] as const;

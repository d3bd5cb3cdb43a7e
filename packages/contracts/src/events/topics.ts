import Type from 'typebox';
import { defineTopic } from './topic.js';

export const apiKeyChanged = defineTopic('drover.api-keys', {
  about: 'An API key was created, replaced or revoked. Subscribers that cache it must read it again.',
  schema: Type.Object({ keyId: Type.String(), tenantId: Type.String(), revoked: Type.Boolean() }),
});

export const functionChanged = defineTopic('drover.functions', {
  about: 'A function was registered, changed or removed. Subscribers that cache it must read it again.',
  schema: Type.Object({ tenantId: Type.String(), name: Type.String(), removed: Type.Boolean() }),
});

export const applicationChanged = defineTopic('drover.applications', {
  about: 'An application was deployed, changed or removed. Subscribers that cache it must read it again.',
  schema: Type.Object({ tenantId: Type.String(), applicationId: Type.String(), removed: Type.Boolean() }),
});

export const collectionChanged = defineTopic('drover.collections', {
  about: 'A collection was defined, changed or removed. Subscribers that cache its definition must read it again.',
  schema: Type.Object({
    tenantId: Type.String(),
    collectionId: Type.String(),
    name: Type.String(),
    removed: Type.Boolean(),
  }),
});

export const recordChanged = defineTopic('drover.records', {
  about:
    'A record was created, updated, deleted or restored. Published if `DROVER_RECORD_EVENTS_ON_BUS` is `on`; `position` is that of the change in `_changes`.',
  schema: Type.Object({
    tenantId: Type.String(),
    collectionId: Type.String(),
    collection: Type.String(),
    recordId: Type.String(),
    kind: Type.String(),
    position: Type.Integer(),
  }),
});

/** All topics. */
export const topics = [apiKeyChanged, functionChanged, applicationChanged, collectionChanged, recordChanged] as const;

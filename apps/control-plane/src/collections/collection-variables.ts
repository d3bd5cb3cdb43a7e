import { integer } from '@drover/service-kit';

export const collectionVariables = {
  maxCollections: integer('DROVER_MAX_COLLECTIONS', {
    min: 1,
    max: 10_000,
    default: 200,
    about: 'Maximum number of collections of a tenant.',
  }),
};

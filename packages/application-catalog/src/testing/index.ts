export { MemoryApplicationCatalog } from '../memory/memory-application-catalog.js';
export { applicationCatalogContract } from './application-catalog-contract.js';
export type { CatalogFixture } from './application-catalog-contract.js';
export { acmeTenant, codeVersionAt, globexTenant, sampleDeployment, sampleIndex } from './sample-deployments.js';

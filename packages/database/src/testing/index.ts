export { startScratchPostgres, volatileSettings } from './scratch-postgres.js';
export { createTestDatabase, quietIo, testServerVariable } from './test-database.js';
export { patientLimits } from './test-server.js';
export type { TestDatabase } from './test-database.js';

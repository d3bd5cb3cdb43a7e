export { createTestDatabase, quietIo, testServerVariable } from './test-database.js';
export type { TestDatabase } from './test-database.js';

export { executionStoreContract } from './execution-store-contract.js';
export type { ContractFixture, OpenContractFixture } from './execution-store-contract.js';
export { acceptedCallAt, deadLetterAt, outcomeAt } from './sample-executions.js';

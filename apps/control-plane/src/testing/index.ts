export { defaultAssignmentPolicy } from '../assignments/assignment-facts.js';
export type { AssignmentPolicy } from '../assignments/assignment-facts.js';
export { runAssignmentPass } from '../assignments/assignment-pass.js';
export { AssignmentRunner } from '../assignments/assignment-runner.js';
export { ManualAssignments } from '../assignments/manual-assignments.js';
export { WorkerRegistry } from '../assignments/worker-registry.js';
export { controlPlaneSchema } from '../schema.js';

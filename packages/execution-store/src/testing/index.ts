export { deadLetterAt, invocationAt, outcomeAt } from './sample-executions.js';

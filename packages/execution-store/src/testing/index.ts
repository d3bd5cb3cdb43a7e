export { deadLetterAt, acceptedCallAt, outcomeAt } from './sample-executions.js';

import { expect, it } from 'vitest';
import { shownTriggerType } from './trigger-types.js';

it.each([
  ['httpTrigger', 'httpTrigger'],
  ['HttpTrigger', 'httpTrigger'],
  ['queuetrigger', 'queueTrigger'],
  ['TIMERTRIGGER', 'timerTrigger'],
  ['CosmosDbTrigger', 'cosmosDBTrigger'],
  ['ourOwnTrigger', 'ourOwnTrigger'],
])('a trigger written as %s is shown as %s', (written, shown) => {
  expect(shownTriggerType(written)).toBe(shown);
});

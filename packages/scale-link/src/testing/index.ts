export { applicationSample, attachMessage, hostedApplication } from './link-messages.js';
export { MemoryScaleLink, memoryLinkPair } from './memory-scale-link.js';
export { Attachments } from '../attachments.js';

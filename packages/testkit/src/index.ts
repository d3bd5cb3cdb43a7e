export { Child, isAlive } from './child.js';
export type { Exit } from './child.js';
export { eventually } from './eventually.js';
export { FakeClock } from './fake-clock.js';
export { withScratchDirectory } from './scratch.js';
export { selfSigned } from './self-signed.js';
export { seededRandomness } from './seeded-randomness.js';

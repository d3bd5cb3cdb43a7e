export { upErrors } from './up/errors.js';
export { upReaders } from './up/observations.js';
export { upVariables } from './up/config.js';

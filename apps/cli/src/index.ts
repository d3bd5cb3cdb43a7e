export { upErrors } from './up/errors.js';
export { upReaders } from './up/observations.js';
export { supervisedProcessStates } from './up/supervised-process.js';
export { upVariables } from './up/config.js';

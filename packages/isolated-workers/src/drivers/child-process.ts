export { childProcess } from '../core/drivers/child-process/host.js';

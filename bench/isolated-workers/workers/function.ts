/** The worker of pools that call a module's functions. */
export { exit, exitOnce } from './exits.js';
export const echo = (value: unknown): unknown => value;
export default echo;

/** The worker of pools that call a module's functions. */
export const echo = (value: unknown): unknown => value;
export default echo;

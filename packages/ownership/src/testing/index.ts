export { everyPartition, makeHomeTables, openHomes } from './open-homes.js';
export type { OpenOptions, OpenedHomes } from './open-homes.js';

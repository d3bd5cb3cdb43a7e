export { defaultPorts } from './emulators.js';
export type { EmulatorConnectionStrings, EmulatorPort, Emulators, EmulatorsOptions } from './emulators.js';
export { EntitiesInvalidError } from './entities/entities.js';
export type { Entities } from './entities/entities.js';
export { readEntities } from './entities/read-entities.js';
export type { EmulatedService, EntityConsole, EntityStatus, ShownMessage, TypedMessage } from './entity-console.js';
export { startEmulatorsPage } from './page/page-server.js';
export type { EmulatorsPage } from './page/page-server.js';

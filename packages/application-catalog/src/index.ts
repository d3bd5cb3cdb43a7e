export type { CatalogApplication, CatalogVersion, PayloadSource, ScaleSettings } from './application-catalog.js';
